// Words and pieces of words as tokens.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "matapprox/attention/tasks/import.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ImportOptions word_options(Index vocabulary) {
  ImportOptions options;
  options.tokens = TextTokens::kWords;
  options.vocabulary = vocabulary;
  return options;
}

ImportOptions file_options(TextTokens tokens, const std::string& vocabulary_file) {
  ImportOptions options;
  options.tokens = tokens;
  options.vocabulary_file = vocabulary_file;
  return options;
}

std::vector<std::int32_t> row_of(const TokenSet& set, Index i) {
  const auto sequence = set.sequence(i);
  return {sequence.begin(), sequence.end()};
}

/// A folder with train.csv and test.csv in the format of AG News.
std::string news_folder(const std::string& train, const std::string& test) {
  std::string folder = test::temporary_dir();
  test::write_file(folder + "/train.csv", train);
  test::write_file(folder + "/test.csv", test);
  return folder;
}

/// The output of tests/reference/text_tokens.py, with its texts as the messages of a news group.
struct TextReference {
  nlohmann::json values;
  std::string folder = test::temporary_dir();
  TextReference() {
    std::ifstream(test::source_dir() + "/tests/reference/text_tokens.json") >> values;
    std::size_t number = 0;
    for (const nlohmann::json& text : values["texts"]) {
      const char* const part = number < values["training"].get<std::size_t>() ? "train" : "test";
      const std::string group = fmt::format("{}/{}/group", folder, part);
      std::filesystem::create_directories(group);
      test::write_file(fmt::format("{}/{:04}.txt", group, number++), text.get<std::string>());
    }
  }
  void expect_ids(const TokenSet& set, const char* name) const {
    ASSERT_EQ(set.size(), std::ssize(values[name]));
    for (Index i = 0; i < set.size(); ++i) {
      EXPECT_EQ(row_of(set, i),
                values[name][static_cast<std::size_t>(i)].get<std::vector<std::int32_t>>())
          << name << " of text " << i;
    }
  }
};

TEST(TextTokens, WordsAreThoseOfTheReference) {
  const TextReference reference;
  const TokenSet set = import_tokens(ImportFormat::kNewsgroups,
                                     reference.folder,
                                     word_options(reference.values["vocabulary"].get<Index>()));
  EXPECT_EQ(set.token_names, reference.values["words"].get<std::vector<std::string>>());
  EXPECT_EQ(set.vocabulary, std::ssize(set.token_names));
  reference.expect_ids(set, "word_ids");
}

TEST(TextTokens, PiecesAreThoseOfTheReference) {
  const TextReference reference;
  const std::string vocabulary = reference.folder + "/vocab.txt";
  std::string lines;
  for (const nlohmann::json& piece : reference.values["pieces"])
    lines += piece.get<std::string>() + "\n";
  test::write_file(vocabulary, lines);
  const TokenSet set = import_tokens(
      ImportFormat::kNewsgroups, reference.folder, file_options(TextTokens::kSubwords, vocabulary));
  EXPECT_EQ(set.token_names, reference.values["pieces"].get<std::vector<std::string>>());
  reference.expect_ids(set, "piece_ids");
}

TEST(TextTokens, WordsOfTheTestAreNotCountedAndTiesGoByTheWord) {
  const std::string folder = news_folder("1,B a,a b\n2,c,C d\n", "3,zz,zz zz zz a d\n");
  const TokenSet set = import_tokens(ImportFormat::kAgNews, folder, word_options(5));
  EXPECT_THAT(set.token_names, ElementsAre("[PAD]", "[UNK]", "a", "b", "c"));
  EXPECT_THAT(row_of(set, 0), ElementsAre(3, 2, 2, 3));
  EXPECT_THAT(row_of(set, 1), ElementsAre(4, 4, 1));
  EXPECT_THAT(row_of(set, 2), ElementsAre(1, 1, 1, 1, 2, 1));
  // The vocabulary has all words if there are more ids than words.
  EXPECT_EQ(import_tokens(ImportFormat::kAgNews, folder, word_options(1000)).vocabulary, 6);
}

TEST(TextTokens, LengthsCountWordsAndACutDoesNotChangeTheVocabulary) {
  const std::string folder = news_folder("1,a,b b c c c\n2,d,e\n", "3,c,b a\n");
  ImportOptions options = word_options(100);
  options.max_length = 2;
  options.keep = KeptPart::kLast;
  options.min_length = 3;
  const TokenSet set = import_tokens(ImportFormat::kAgNews, folder, options);
  ASSERT_EQ(set.size(), 2);
  EXPECT_EQ(set.token_names.at(2), "c");
  EXPECT_EQ(set.token_names.at(3), "b");
  EXPECT_THAT(row_of(set, 0), ElementsAre(2, 2));
  EXPECT_EQ(row_of(set, 1).size(), 2U);
}

TEST(TextTokens, ATokenFileGivesItsVocabularyToOtherTexts) {
  const std::string folder = news_folder("1,one,two two\n", "2,two,one\n");
  const std::string tokens = folder + "/tokens.h5";
  write_token_file(tokens, import_tokens(ImportFormat::kAgNews, folder, word_options(10)));
  const std::string other = folder + "/other.csv";
  test::write_file(other, "1,three two,ONE\n");
  const TokenSet set =
      import_tokens(ImportFormat::kAgNews, other, file_options(TextTokens::kWords, tokens));
  EXPECT_THAT(set.token_names, ElementsAre("[PAD]", "[UNK]", "two", "one"));
  EXPECT_THAT(row_of(set, 0), ElementsAre(1, 2, 3));
  TokenSet nameless = import_tokens(ImportFormat::kAgNews, other);
  write_token_file(tokens, nameless);
  EXPECT_REFUSED(
      FileError,
      import_tokens(ImportFormat::kAgNews, other, file_options(TextTokens::kWords, tokens)),
      "without token_names");
}

TEST(TextTokens, TwoTextsHaveASeparatorBetween) {
  const std::string folder = test::temporary_dir();
  const std::string path = folder + "/x.tsv";
  test::write_file(path, "1\tP\tP\tb a b\tA.\n");
  ImportOptions options = word_options(100);
  options.max_length = 2;
  const TokenSet set = import_tokens(ImportFormat::kAan, path, options);
  EXPECT_THAT(set.token_names, ElementsAre("[PAD]", "[UNK]", "[SEP]", "a", "b", "."));
  EXPECT_THAT(row_of(set, 0), ElementsAre(4, 3, 2, 3, 5));
  const std::string vocabulary = folder + "/vocab.txt";
  test::write_file(vocabulary, "[UNK]\na\n");
  EXPECT_REFUSED(
      FileError,
      import_tokens(ImportFormat::kAan, path, file_options(TextTokens::kWords, vocabulary)),
      "vocab.txt: the vocabulary has no [SEP]");
}

TEST(TextTokens, VocabularyFilesThatAreRefused) {
  const std::string folder = news_folder("1,a,b\n", "1,a,b\n");
  const std::string vocabulary = folder + "/vocab.txt";
  const auto complaint = [&](const std::string& text) {
    test::write_file(vocabulary, text);
    return test::complaint_of([&] {
      import_tokens(ImportFormat::kAgNews, folder, file_options(TextTokens::kSubwords, vocabulary));
    });
  };
  EXPECT_THAT(complaint(""), HasSubstr("vocab.txt: no line is [UNK]"));
  EXPECT_THAT(complaint("[UNK]\n\na\n"), HasSubstr("vocab.txt:2: a line without a token"));
  EXPECT_THAT(complaint("[UNK]\na\nb\na\n"), HasSubstr("vocab.txt:4: 'a' is also in line 2"));
  EXPECT_THAT(complaint(std::string("[UNK]\na\0b\n", 10)), HasSubstr("vocab.txt:2: 'a\\x00b'"));
  EXPECT_EQ(complaint("\xEF\xBB\xBF[UNK]\r\na\r\nb\r\n"), "no error");
}

TEST(TextTokens, OptionsThatAreRefused) {
  const std::string folder = news_folder("1,a,b\n", "1,a,b\n");
  const auto import_news = [&](const ImportOptions& options) {
    import_tokens(ImportFormat::kAgNews, folder, options);
  };
  EXPECT_REFUSED(
      InvalidArgument, import_news(word_options(3)), "vocabulary 3 is outside 4..16777216");
  EXPECT_REFUSED(InvalidArgument, import_news(word_options(0)), "vocabulary 0 is outside");
  ImportOptions options = word_options(10);
  EXPECT_REFUSED(
      InvalidArgument, import_tokens(ImportFormat::kCifar10, folder, options), "cifar10 has none");
  options.vocabulary_file = folder + "/vocab.txt";
  EXPECT_REFUSED(InvalidArgument, import_news(options), "exclude each other");
  EXPECT_REFUSED(InvalidArgument,
                 import_news(file_options(TextTokens::kSubwords, "")),
                 "subwords need a vocabulary_file");
  EXPECT_REFUSED(InvalidArgument, import_news(file_options(TextTokens::kBytes, "x")), "not bytes");
  EXPECT_REFUSED(
      FileError, import_news(file_options(TextTokens::kWords, folder + "/none.txt")), "none.txt");
  test::write_file(folder + "/train.csv", "1,\"\t\",\" \"\n");
  EXPECT_REFUSED(FileError, import_news(word_options(10)), "train.csv: no words in the text");
  test::write_file(folder + "/train.csv", "1," + std::string(101, 'x') + ",\n");
  EXPECT_REFUSED(FileError, import_news(word_options(10)), "no training text to count words in");
}

}  // namespace
}  // namespace matapprox::tasks
