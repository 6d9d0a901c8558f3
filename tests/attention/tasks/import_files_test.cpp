// Import of data sets with one file per split: ListOps, AAN, AG News, CIFAR, FASTA.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
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

/// Writes a file x.tsv with this text.
std::string data_file(const std::string& text) {
  std::string path = test::temporary_dir() + "/x.tsv";
  test::write_file(path, text);
  return path;
}

std::string import_complaint(ImportFormat format,
                             const std::string& text,
                             const ImportOptions& options = {}) {
  return test::complaint_of([&] { import_tokens(format, data_file(text), options); });
}

std::vector<std::int32_t> tokens_of(const TokenSet& set, Index i) {
  const auto sequence = set.sequence(i);
  return {sequence.begin(), sequence.end()};
}

std::vector<std::int32_t> byte_tokens(const std::string& text) {
  std::vector<std::int32_t> tokens;
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

TEST(ImportListops, TokensAndLabels) {
  const TokenSet set = import_tokens(
      ImportFormat::kListops,
      data_file("Source\tTarget\r\n( ( ( [MAX 2 ) 9 ) ] )\t9\n[MIN [MED 0 1 ] [SM 8 7 ] ]\t0"));
  EXPECT_EQ(set.vocabulary, 15);
  EXPECT_EQ(set.classes, 10);
  ASSERT_EQ(set.size(), 2);
  EXPECT_THAT(tokens_of(set, 0), ElementsAre(11, 2, 9, 14));
  EXPECT_THAT(tokens_of(set, 1), ElementsAre(10, 12, 0, 1, 14, 13, 8, 7, 14, 14));
  EXPECT_THAT(set.labels, ElementsAre(9, 0));
  EXPECT_TRUE(set.splits.empty());
  EXPECT_EQ(set.token_names.at(10), "[MIN");
  EXPECT_NO_THROW(check_tokens(set, "x"));
}

TEST(ImportListops, FoldersHaveSplits) {
  const std::string folder = test::temporary_dir();
  test::write_file(folder + "/basic_test.tsv", "Source\tTarget\n3\t3\n");
  test::write_file(folder + "/basic_train.tsv", "Source\tTarget\n1\t1\n");
  test::write_file(folder + "/basic_val.tsv", "Source\tTarget\n2\t2\n");
  test::write_file(folder + "/notes.tsv", "not a split");
  const TokenSet set = import_tokens(ImportFormat::kListops, folder);
  EXPECT_THAT(set.labels, ElementsAre(1, 2, 3));
  EXPECT_THAT(set.splits, ElementsAre(Split::kTrain, Split::kValidation, Split::kTest));
  const auto complaint = [&] {
    return test::complaint_of([&] { import_tokens(ImportFormat::kListops, folder); });
  };
  test::write_file(folder + "/other_train.tsv", "");
  EXPECT_THAT(complaint(), HasSubstr("'basic_train.tsv' and 'other_train.tsv' are the same split"));
  EXPECT_THAT(
      test::complaint_of([] { import_tokens(ImportFormat::kListops, test::temporary_dir()); }),
      HasSubstr("no file here is named ...train.tsv"));
}

TEST(ImportListops, Refusals) {
  const auto complaint = [](const std::string& text) {
    return import_complaint(ImportFormat::kListops, text);
  };
  const std::string head = "Source\tTarget\n";
  EXPECT_THAT(complaint(""), HasSubstr("x.tsv: the file is empty"));
  EXPECT_THAT(complaint(head), HasSubstr("x.tsv: no sequences"));
  EXPECT_THAT(complaint("[MAX 1 ]\t1\n"), HasSubstr("x.tsv:1: the first line is '[MAX 1 ]"));
  EXPECT_THAT(complaint(std::string("\0\1\2\3", 4)), HasSubstr("x.tsv:1: the first line is"));
  EXPECT_THAT(complaint(head + "1\t1\n[MAX 1 ]\n"),
              HasSubstr("x.tsv:3: there must be two columns"));
  EXPECT_THAT(complaint(head + "1\t1\t1\n"), HasSubstr("x.tsv:2: there must be two columns"));
  EXPECT_THAT(complaint(head + "1\t10\n"), HasSubstr("x.tsv:2: label '10' is outside 0..9"));
  EXPECT_THAT(complaint(head + "1\t\n"), HasSubstr("x.tsv:2: label '' is outside 0..9"));
  EXPECT_THAT(complaint(head + "1\t-1\n"), HasSubstr("label '-1' is outside 0..9"));
  EXPECT_THAT(complaint(head + "[AVG 1 ]\t1\n"), HasSubstr("x.tsv:2: '[AVG' is not a token"));
  EXPECT_THAT(complaint(head + "12\t1\n"), HasSubstr("'12' is not a token"));
  EXPECT_THAT(complaint(head + "( )\t1\n"), HasSubstr("x.tsv:2: the column Source is empty"));
  EXPECT_THAT(complaint(head + std::string((1 << 24) + 1, '1')), HasSubstr("a line of 16777217"));
  EXPECT_THAT(
      test::complaint_of([] { import_tokens(ImportFormat::kListops, "/no/such/file.tsv"); }),
      HasSubstr("/no/such/file.tsv: cannot read"));
}

TEST(ImportOptions, LengthsAreCutAndLeftOut) {
  const std::string path = data_file("Source\tTarget\n1 2 3 4 5\t1\n6 7\t2\n8 9 0\t3\n");
  ImportOptions options;
  options.max_length = 3;
  options.min_length = 3;
  const TokenSet first = import_tokens(ImportFormat::kListops, path, options);
  ASSERT_EQ(first.size(), 2);
  EXPECT_THAT(tokens_of(first, 0), ElementsAre(1, 2, 3));
  EXPECT_THAT(tokens_of(first, 1), ElementsAre(8, 9, 0));
  EXPECT_THAT(first.labels, ElementsAre(1, 3));
  options.keep = KeptPart::kLast;
  EXPECT_THAT(tokens_of(import_tokens(ImportFormat::kListops, path, options), 0),
              ElementsAre(3, 4, 5));
  options.min_length = 6;
  EXPECT_REFUSED(FileError,
                 import_tokens(ImportFormat::kListops, path, options),
                 "no sequence has 6 tokens or more");
  options.min_length = -1;
  EXPECT_REFUSED(InvalidArgument,
                 import_tokens(ImportFormat::kListops, path, options),
                 "import: min_length -1 is outside 0..16777216");
  EXPECT_EQ(list_options(options).size(), 14U);
}

TEST(ImportAan, TwoDocumentsWithASeparator) {
  const std::string path = data_file("1.0\tP1\tP2\tab\tcde\n0\tP3\tP4\t\xFF\"\tz\n");
  const TokenSet set = import_tokens(ImportFormat::kAan, path);
  EXPECT_EQ(set.vocabulary, 257);
  EXPECT_EQ(set.classes, 2);
  EXPECT_THAT(tokens_of(set, 0), ElementsAre('a', 'b', 256, 'c', 'd', 'e'));
  EXPECT_THAT(tokens_of(set, 1), ElementsAre(255, '"', 256, 'z'));
  EXPECT_THAT(set.labels, ElementsAre(1, 0));
  ImportOptions options;
  options.max_length = 2;  // tokens per document
  EXPECT_THAT(tokens_of(import_tokens(ImportFormat::kAan, path, options), 0),
              ElementsAre('a', 'b', 256, 'c', 'd'));
  options.keep = KeptPart::kLast;
  EXPECT_THAT(tokens_of(import_tokens(ImportFormat::kAan, path, options), 0),
              ElementsAre('a', 'b', 256, 'd', 'e'));
}

TEST(ImportAan, Refusals) {
  const auto complaint = [](const std::string& text) {
    return import_complaint(ImportFormat::kAan, text);
  };
  EXPECT_THAT(complaint(""), HasSubstr("x.tsv: the file is empty"));
  EXPECT_THAT(complaint("1\ta\tb\tc\td\n1\ta\tb\tc\n"),
              HasSubstr("x.tsv:2: 4 columns; there must"));
  EXPECT_THAT(complaint("1\ta\tb\tc\td\te\n"), HasSubstr("x.tsv:1: 6 columns"));
  EXPECT_THAT(complaint("2\ta\tb\tc\td\n"), HasSubstr("x.tsv:1: label '2' is not 0 or 1"));
  EXPECT_THAT(complaint("label\ta\tb\tc\td\n"), HasSubstr("label 'label' is not 0 or 1"));
  EXPECT_THAT(complaint("1\ta\tb\t\td\n"), HasSubstr("x.tsv:1: a text is empty"));
  EXPECT_THAT(complaint("1\ta\tb\tc\t\n"), HasSubstr("x.tsv:1: a text is empty"));
  EXPECT_THAT(complaint("1\t" + std::string(1 << 24, 'x')),
              HasSubstr("x.tsv:1: a line of 1677721"));
}

TEST(ImportAgNews, QuotesAndLineEnds) {
  const TokenSet set =
      import_tokens(ImportFormat::kAgNews,
                    data_file("\"3\",\"A \"\"b\"\", c\",\"d\ne\"\r\n\r\n1,f,\"\"\n\"4\",\"\",g"));
  EXPECT_EQ(set.vocabulary, 256);
  EXPECT_EQ(set.classes, 4);
  ASSERT_EQ(set.size(), 3);
  EXPECT_EQ(tokens_of(set, 0), byte_tokens("A \"b\", c d\ne"));
  EXPECT_EQ(tokens_of(set, 1), byte_tokens("f "));
  EXPECT_EQ(tokens_of(set, 2), byte_tokens(" g"));
  EXPECT_THAT(set.labels, ElementsAre(2, 0, 3));
  EXPECT_EQ(set.class_names.at(2), "Business");
  const TokenSet headed =
      import_tokens(ImportFormat::kAgNews, data_file("Class Index,Title,Description\n2,a,b\n"));
  EXPECT_EQ(headed.size(), 1);
}

TEST(ImportAgNews, FolderOfTrainAndTest) {
  const std::string folder = test::temporary_dir();
  test::write_file(folder + "/train.csv", "1,a,b\n");
  test::write_file(folder + "/test.csv", "2,c,d\n");
  const TokenSet set = import_tokens(ImportFormat::kAgNews, folder);
  EXPECT_THAT(set.splits, ElementsAre(Split::kTrain, Split::kTest));
  EXPECT_THAT(set.labels, ElementsAre(0, 1));
}

TEST(ImportAgNews, Refusals) {
  const auto complaint = [](const std::string& text) {
    return import_complaint(ImportFormat::kAgNews, text);
  };
  EXPECT_THAT(complaint(""), HasSubstr("x.tsv: there are no records"));
  EXPECT_THAT(complaint("Class Index,Title,Description\n"), HasSubstr("there are no records"));
  EXPECT_THAT(complaint("1,a,b\n1,a\n"), HasSubstr("x.tsv:2: 2 columns; there must be 3"));
  EXPECT_THAT(complaint("1,a,b,c\n"), HasSubstr("x.tsv:1: more than 3 columns"));
  EXPECT_THAT(complaint("1,\"a\nb\",c\n0,a,b\n"), HasSubstr("x.tsv:3: label '0' is outside 1..4"));
  EXPECT_THAT(complaint("5,a,b\n"), HasSubstr("label '5' is outside 1..4"));
  EXPECT_THAT(complaint("11,a,b\n"), HasSubstr("label '11' is outside 1..4"));
  EXPECT_THAT(complaint("1,a,b\n1,\"a,b\n\n"), HasSubstr("x.tsv:2: a quote is opened and never"));
  EXPECT_THAT(complaint("1,\"a\" b,c\n"), HasSubstr("x.tsv:1: ' ' follows a closing quote"));
  EXPECT_THAT(complaint("1,\"a\"b,c\n"), HasSubstr("x.tsv:1: 'b' follows a closing quote"));
  EXPECT_THAT(complaint("1,a \"b\",c\n"), HasSubstr("x.tsv:1: a quote within an unquoted field"));
  EXPECT_THAT(complaint("1,\"" + std::string((1 << 24) + 1, 'x') + "\",c\n"),
              HasSubstr("x.tsv:1: a field of more than 16777216 bytes"));
}

/// One record: label bytes, and pixels that are all 0 except the first three and the last.
std::string cifar_record(const std::string& labels) {
  std::string record = labels + std::string(3072, '\0');
  const std::size_t pixels = labels.size();
  const auto put = [&](std::size_t k, unsigned red, unsigned green, unsigned blue) {
    record[pixels + k] = static_cast<char>(red);
    record[pixels + 1024 + k] = static_cast<char>(green);
    record[pixels + 2048 + k] = static_cast<char>(blue);
  };
  put(0, 255, 255, 255);
  put(1, 255, 0, 0);     // 76.245
  put(2, 0, 200, 10);    // 117.4 + 1.14 = 118.54
  put(1023, 0, 0, 255);  // 29.07
  return record;
}

TEST(ImportCifar, GrayLevelsOfPixels) {
  const TokenSet set = import_tokens(
      ImportFormat::kCifar10, data_file(cifar_record("\x03") + cifar_record(std::string(1, '\0'))));
  EXPECT_EQ(set.vocabulary, 256);
  EXPECT_EQ(set.classes, 10);
  ASSERT_EQ(set.size(), 2);
  std::vector<std::int32_t> wanted(1024, 0);
  wanted[0] = 255;
  wanted[1] = 76;
  wanted[2] = 119;
  wanted[1023] = 29;
  EXPECT_EQ(tokens_of(set, 0), wanted);
  EXPECT_THAT(set.labels, ElementsAre(3, 0));
}

TEST(ImportCifar, FoldersAndLabelsOfBothKinds) {
  const std::string folder = test::temporary_dir();
  for (int part = 1; part <= 5; ++part) {
    test::write_file(fmt::format("{}/data_batch_{}.bin", folder, part), cifar_record("\x01"));
  }
  test::write_file(folder + "/test_batch.bin", cifar_record("\x09"));
  test::write_file(folder + "/train.bin", cifar_record("\x13\x63"));
  test::write_file(folder + "/test.bin", cifar_record("\x02\x04"));
  const TokenSet ten = import_tokens(ImportFormat::kCifar10, folder);
  EXPECT_THAT(ten.labels, ElementsAre(1, 1, 1, 1, 1, 9));
  EXPECT_EQ(ten.splits.at(4), Split::kTrain);
  EXPECT_EQ(ten.splits.at(5), Split::kTest);
  ImportOptions options;
  const TokenSet fine = import_tokens(ImportFormat::kCifar100, folder, options);
  EXPECT_EQ(fine.classes, 100);
  EXPECT_THAT(fine.labels, ElementsAre(99, 4));
  EXPECT_EQ(tokens_of(fine, 0), tokens_of(ten, 0));
  options.coarse = true;
  const TokenSet coarse = import_tokens(ImportFormat::kCifar100, folder, options);
  EXPECT_EQ(coarse.classes, 20);
  EXPECT_THAT(coarse.labels, ElementsAre(19, 2));
}

TEST(ImportCifar, PatchesAreRowsOfColors) {
  std::string record(3073, '\0');
  record[0] = 7;
  for (std::size_t k = 0; k < 3072; ++k) record[1 + k] = static_cast<char>((k * 37) % 256);
  ImportOptions options;
  options.patch = 8;
  const TokenSet set = import_tokens(ImportFormat::kCifar10, data_file(record + record), options);
  EXPECT_EQ(set.features, 8 * 8 * 3);
  EXPECT_EQ(set.vocabulary, 0);
  EXPECT_EQ(set.length(1), 16);
  EXPECT_THAT(set.labels, ElementsAre(7, 7));
  EXPECT_NO_THROW(check_tokens(set, "x"));
  const auto rows = set.feature_rows(1);
  std::size_t at = 0;
  for (std::size_t token = 0; token < 16; ++token) {
    for (std::size_t i = 0; i < 8; ++i) {
      for (std::size_t j = 0; j < 8; ++j) {
        for (std::size_t plane = 0; plane < 3; ++plane) {
          const std::size_t k = plane * 1024 + (token / 4 * 8 + i) * 32 + token % 4 * 8 + j;
          const auto level = static_cast<double>((k * 37) % 256);
          ASSERT_NEAR(rows[at++], 2 * level / 255 - 1, 1e-6) << token << " " << i << " " << j;
        }
      }
    }
  }
  options.max_length = 3;
  options.keep = KeptPart::kLast;
  const TokenSet cut = import_tokens(ImportFormat::kCifar10, data_file(record), options);
  EXPECT_EQ(cut.length(0), 3);
  EXPECT_EQ(cut.values.front(), rows[13 * 192]);
  options.patch = 5;
  EXPECT_REFUSED(FileError,
                 import_tokens(ImportFormat::kCifar10, data_file(record), options),
                 "32 x 32 pixels cannot be cut into patches of 5 x 5");
  options.patch = -1;
  EXPECT_REFUSED(InvalidArgument,
                 import_tokens(ImportFormat::kCifar10, data_file(record), options),
                 "patch -1 is outside 0..512");
  options.patch = 8;
  EXPECT_REFUSED(InvalidArgument,
                 import_tokens(ImportFormat::kListops, data_file(record), options),
                 "patch is for images; listops has none");
}

TEST(ImportCifar, Refusals) {
  const auto complaint = [](const std::string& text) {
    return import_complaint(ImportFormat::kCifar10, text);
  };
  const std::string good = cifar_record("\x01");
  EXPECT_THAT(complaint(""), HasSubstr("x.tsv: the file is empty"));
  EXPECT_THAT(complaint(good + good.substr(1)),
              HasSubstr("6145 bytes; records have 3073 bytes each; record 1 is truncated"));
  EXPECT_THAT(complaint(good + cifar_record("\x0A")),
              HasSubstr("record 1: label 10 is outside 0..9"));
  EXPECT_THAT(import_complaint(ImportFormat::kCifar100, cifar_record("\x14\x01")),
              HasSubstr("record 0: label 20 is outside 0..19"));
  EXPECT_THAT(import_complaint(ImportFormat::kCifar100, cifar_record("\x01\x64")),
              HasSubstr("record 0: label 100 is outside 0..99"));
  EXPECT_THAT(
      test::complaint_of([] { import_tokens(ImportFormat::kCifar10, test::temporary_dir()); }),
      HasSubstr("data_batch_1.bin: cannot read"));
}

TEST(ImportGenome, OneFileAClass) {
  const std::string folder = test::temporary_dir();
  test::write_file(folder + "/Equus_asinus.cdna.fa", ">one\nACGT\n\nnacg\r\n>two x\nTT\n");
  test::write_file(folder + "/Canis.fasta", ">dog\nRyw\n");
  test::write_file(folder + "/readme.txt", "no sequence");
  const TokenSet set = import_tokens(ImportFormat::kGenome, folder);
  EXPECT_EQ(set.vocabulary, 5);
  EXPECT_EQ(set.classes, 2);
  EXPECT_THAT(set.class_names, ElementsAre("Canis", "Equus_asinus"));
  EXPECT_THAT(tokens_of(set, 0), ElementsAre(4, 4, 4));
  EXPECT_THAT(tokens_of(set, 1), ElementsAre(0, 1, 2, 3, 4, 0, 1, 2));
  EXPECT_THAT(tokens_of(set, 2), ElementsAre(3, 3));
  EXPECT_THAT(set.labels, ElementsAre(0, 1, 1));
}

TEST(ImportGenome, Refusals) {
  const auto complaint = [](const std::string& text) {
    const std::string folder = test::temporary_dir();
    test::write_file(folder + "/a.fa", ">h\na\n");
    test::write_file(folder + "/b.fa", text);
    return test::complaint_of([&] { import_tokens(ImportFormat::kGenome, folder); });
  };
  EXPECT_EQ(complaint(">h\na\n"), "no error");
  EXPECT_THAT(complaint(""), HasSubstr("b.fa: the file is empty"));
  EXPECT_THAT(complaint("acgt\n"), HasSubstr("b.fa:1: the first line is 'acgt'; it must begin"));
  EXPECT_THAT(complaint(">h\nac\nacXt\n"), HasSubstr("b.fa:3: 'X' is not one of a, c, g, t, n"));
  EXPECT_THAT(complaint(">h\nac gt\n"), HasSubstr("b.fa:2: ' ' is not one of"));
  EXPECT_THAT(complaint(std::string(">h\na\0c\n", 7)), HasSubstr("b.fa:2: '\\x00' is not one of"));
  EXPECT_THAT(complaint(">h\na\n>i\n>j\na\n"), HasSubstr("b.fa:3: the record has no letters"));
  EXPECT_THAT(complaint(">h\na\n>i\n"), HasSubstr("b.fa:3: the record has no letters"));
  EXPECT_THAT(complaint(">h\n" + std::string((1 << 24) + 1, 'a')),
              HasSubstr("b.fa:2: the record has more than 16777216 letters"));
  const std::string folder = test::temporary_dir();
  const auto of_folder = [&] {
    return test::complaint_of([&] { import_tokens(ImportFormat::kGenome, folder); });
  };
  EXPECT_THAT(of_folder(), HasSubstr("0 files *.fa"));
  test::write_file(folder + "/a.x.fa", ">h\na\n");
  test::write_file(folder + "/a.y.fa", ">h\na\n");
  EXPECT_THAT(of_folder(), HasSubstr("two files are of the class 'a'"));
  EXPECT_THAT(test::complaint_of([] { import_tokens(ImportFormat::kGenome, "/no/folder"); }),
              HasSubstr("/no/folder: no such folder"));
}

TEST(ImportProteins, ClassesAreInTheHeader) {
  const std::string path = data_file(">d1 b.2.1 x\nAz\n>d2 a.1.7 y\nmk\n>d3 b.1.2 x\nA\n");
  ImportOptions options;
  const TokenSet last = import_tokens(ImportFormat::kProteins, path, options);
  EXPECT_EQ(last.vocabulary, 26);
  EXPECT_THAT(last.class_names, ElementsAre("x", "y"));
  EXPECT_THAT(last.labels, ElementsAre(0, 1, 0));
  EXPECT_THAT(tokens_of(last, 0), ElementsAre(0, 25));
  EXPECT_EQ(last.token_names.at(25), "z");
  options.class_field = 2;
  const TokenSet second = import_tokens(ImportFormat::kProteins, path, options);
  EXPECT_THAT(second.class_names, ElementsAre("a.1.7", "b.1.2", "b.2.1"));
  EXPECT_THAT(second.labels, ElementsAre(2, 0, 1));
  options.class_levels = 1;
  const TokenSet coarse = import_tokens(ImportFormat::kProteins, path, options);
  EXPECT_THAT(coarse.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(coarse.labels, ElementsAre(1, 0, 1));
  options.class_levels = 2;
  EXPECT_THAT(import_tokens(ImportFormat::kProteins, path, options).class_names,
              ElementsAre("a.1", "b.1", "b.2"));
  options.class_levels = 9;
  EXPECT_EQ(import_tokens(ImportFormat::kProteins, path, options).classes, 3);
}

TEST(ImportProteins, Refusals) {
  ImportOptions options;
  EXPECT_THAT(import_complaint(ImportFormat::kProteins, ">a x\nA\n>lonely\nA\n"),
              HasSubstr("x.tsv:3: the header has 1 fields; the class must be in field 2"));
  EXPECT_THAT(import_complaint(ImportFormat::kProteins, ">a x\nA*\n"),
              HasSubstr("x.tsv:2: '*' is not one of the letters a..z"));
  options.class_field = 3;
  EXPECT_THAT(import_complaint(ImportFormat::kProteins, ">a x\nA\n", options),
              HasSubstr("x.tsv:1: the header has 2 fields; the class must be in field 3"));
  options.class_field = 2;
  options.class_levels = 1;
  EXPECT_THAT(import_complaint(ImportFormat::kProteins, ">a .1\nA\n", options),
              HasSubstr("x.tsv:1: the class in the header is empty"));
}

TEST(ImportedSets, GoThroughATokenFileIntoATask) {
  std::string text;
  for (int k = 0; k < 30; ++k) text += k % 2 == 0 ? "1,even,x\n" : "2,odd,y\n";
  const TokenSet set = import_tokens(ImportFormat::kAgNews, data_file(text));
  TokenFileOptions options;
  options.path = test::temporary_dir() + "/a.h5";
  write_token_file(options.path, set);
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->size(Split::kTest), 3);
  Sample sample;
  for (Index i = 0; i < task->size(Split::kTrain); ++i) {
    task->make(Split::kTrain, i, sample);
    const auto wanted = byte_tokens(sample.label == 0 ? "even x" : std::string("odd y\0", 6));
    EXPECT_EQ(sample.tokens, wanted);
  }
}

}  // namespace
}  // namespace matapprox::tasks
