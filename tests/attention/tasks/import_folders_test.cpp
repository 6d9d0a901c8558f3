// Import of data sets of many small files: IMDb, 20 newsgroups, Pathfinder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "matapprox/attention/tasks/import.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

void put_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  test::write_file(path, text);
}

std::string folder_complaint(ImportFormat format,
                             const std::string& path,
                             const ImportOptions& options = {}) {
  return test::complaint_of([&] { import_tokens(format, path, options); });
}

std::string text_of(const TokenSet& set, Index i) {
  std::string text;
  for (const std::int32_t id : set.sequence(i)) text += static_cast<char>(id);
  return text;
}

/// An aclImdb folder with two reviews for training and two for the test.
std::string imdb_folder() {
  std::string folder = test::temporary_dir();
  put_file(folder + "/train/neg/1_2.txt", "bad");
  put_file(folder + "/train/pos/0_9.txt",
           "gr\xC3\xA9"
           "at");
  put_file(folder + "/train/unsup/0_0.txt", "not read");
  put_file(folder + "/test/neg/0_1.txt", "worse");
  put_file(folder + "/test/pos/0_7.txt", "fine\n");
  return folder;
}

TEST(ImportImdb, BytesOfReviews) {
  const std::string folder = imdb_folder();
  put_file(folder + "/train/neg/0_3.txt", "dull");
  put_file(folder + "/train/neg/urls.lst", "not a review");
  const TokenSet set = import_tokens(ImportFormat::kImdb, folder);
  EXPECT_EQ(set.vocabulary, 256);
  EXPECT_THAT(set.class_names, ElementsAre("neg", "pos"));
  ASSERT_EQ(set.size(), 5);
  EXPECT_EQ(text_of(set, 0), "dull");
  EXPECT_EQ(text_of(set, 1), "bad");
  EXPECT_EQ(text_of(set, 2),
            "gr\xC3\xA9"
            "at");
  EXPECT_EQ(text_of(set, 4), "fine\n");
  EXPECT_THAT(set.labels, ElementsAre(0, 0, 1, 0, 1));
  EXPECT_THAT(set.splits,
              ElementsAre(Split::kTrain, Split::kTrain, Split::kTrain, Split::kTest, Split::kTest));
  ImportOptions options;
  options.max_length = 3;
  EXPECT_EQ(text_of(import_tokens(ImportFormat::kImdb, folder, options), 0), "dul");
  options.keep = KeptPart::kLast;
  EXPECT_EQ(text_of(import_tokens(ImportFormat::kImdb, folder, options), 0), "ull");
}

TEST(ImportImdb, Refusals) {
  const std::string folder = imdb_folder();
  put_file(folder + "/test/neg/0_1.txt", "");
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder),
              HasSubstr("/test/neg/0_1.txt: the file is empty; skip_empty leaves such"));
  ImportOptions options;
  options.skip_empty = true;
  EXPECT_EQ(import_tokens(ImportFormat::kImdb, folder, options).size(), 3);
  put_file(folder + "/test/neg/0_1.txt", std::string("\0\1\2\3rubbish", 11));
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder),
              HasSubstr("0_1.txt: not a text: 4 of 11 bytes are control characters"));
  put_file(folder + "/test/neg/0_1.txt", std::string((1 << 24) + 1, 'x'));
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder),
              HasSubstr("0_1.txt: 16777217 bytes; a text may have at most 16777216"));
  std::filesystem::remove(folder + "/test/neg/0_1.txt");
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder),
              HasSubstr("/test/neg: there is no file *.txt in the folder"));
  std::filesystem::remove_all(folder + "/test");
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder),
              HasSubstr("/test/neg: no such folder"));
  put_file(folder + "/file", "x");
  EXPECT_THAT(folder_complaint(ImportFormat::kImdb, folder + "/file"), HasSubstr("no such folder"));
}

TEST(ImportNewsgroups, AFolderAClass) {
  const std::string folder = test::temporary_dir();
  put_file(folder + "/sci.space/2", "moon");
  put_file(folder + "/sci.space/10", "mars");
  put_file(folder + "/alt.atheism/1", "no");
  const TokenSet set = import_tokens(ImportFormat::kNewsgroups, folder);
  EXPECT_THAT(set.class_names, ElementsAre("alt.atheism", "sci.space"));
  EXPECT_THAT(set.labels, ElementsAre(0, 1, 1));
  EXPECT_EQ(text_of(set, 1), "mars");  // "10" before "2"
  EXPECT_TRUE(set.splits.empty());
}

TEST(ImportNewsgroups, ByDateHasSplits) {
  const std::string folder = test::temporary_dir();
  put_file(folder + "/20news-bydate-train/b/1", "one");
  put_file(folder + "/20news-bydate-train/a/2", "two");
  put_file(folder + "/20news-bydate-test/b/3", "three");
  const TokenSet set = import_tokens(ImportFormat::kNewsgroups, folder);
  EXPECT_THAT(set.class_names, ElementsAre("a", "b"));
  EXPECT_THAT(set.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(set.splits, ElementsAre(Split::kTrain, Split::kTrain, Split::kTest));
  put_file(folder + "/20news-bydate-test/c/4", "four");
  EXPECT_THAT(folder_complaint(ImportFormat::kNewsgroups, folder),
              HasSubstr("20news-bydate-test: the class 'c' does not occur in training"));
  put_file(folder + "/other-test/c/4", "four");
  EXPECT_THAT(folder_complaint(ImportFormat::kNewsgroups, folder),
              HasSubstr("both '20news-bydate-test' and 'other-test' end in test"));
}

TEST(ImportNewsgroups, Refusals) {
  const std::string folder = test::temporary_dir();
  EXPECT_THAT(folder_complaint(ImportFormat::kNewsgroups, folder),
              HasSubstr("there are no folders; one per class is expected"));
  put_file(folder + "/x-train/b/1", "one");
  EXPECT_THAT(folder_complaint(ImportFormat::kNewsgroups, folder),
              HasSubstr("one of the folders *train and *test is missing"));
  std::filesystem::create_directories(folder + "/y/empty");
  EXPECT_THAT(folder_complaint(ImportFormat::kNewsgroups, folder + "/y"),
              HasSubstr("/y/empty: there is no file"));
}

/// Two images of 2 x 3 pixels, listed in one metadata file.
std::string pathfinder_folder() {
  std::string folder = test::temporary_dir();
  put_file(folder + "/metadata/1.npy",
           "imgs/0 sample_0.png 0 1 1.8 6 2.0 5 1.5 2 20\nimgs/0 sample_1.png 1 0\n");
  std::filesystem::create_directories(folder + "/imgs/0");
  write_png(folder + "/imgs/0/sample_0.png", (Matrix(2, 3) << 0, 1, 2, 253, 254, 255).finished());
  write_png(folder + "/imgs/0/sample_1.png", Matrix::Constant(2, 3, 7));
  return folder;
}

TEST(ImportPathfinder, PixelsByRows) {
  const TokenSet set = import_tokens(ImportFormat::kPathfinder, pathfinder_folder());
  EXPECT_EQ(set.vocabulary, 256);
  EXPECT_EQ(set.classes, 2);
  ASSERT_EQ(set.size(), 2);
  EXPECT_THAT(set.tokens, ElementsAre(0, 1, 2, 253, 254, 255, 7, 7, 7, 7, 7, 7));
  EXPECT_THAT(set.labels, ElementsAre(1, 0));
  EXPECT_TRUE(set.splits.empty());
}

TEST(ImportPathfinder, MetadataThatIsRefused) {
  const std::string folder = pathfinder_folder();
  const auto complaint = [&](const std::string& metadata) {
    put_file(folder + "/metadata/1.npy", metadata);
    return folder_complaint(ImportFormat::kPathfinder, folder);
  };
  EXPECT_THAT(complaint(""), HasSubstr("no sequences"));
  EXPECT_THAT(complaint("\nimgs/0 sample_0.png 0\n"),
              HasSubstr("metadata/1.npy:2: 3 columns; there must be 4 or more"));
  EXPECT_THAT(complaint("imgs/0 sample_0.png 0 2\n"),
              HasSubstr("1.npy:1: label '2' is not 0 or 1"));
  EXPECT_THAT(complaint("../x sample_0.png 0 1\n"), HasSubstr("is outside the data set"));
  EXPECT_THAT(complaint("imgs/0 /etc/passwd 0 1\n"), HasSubstr("is outside the data set"));
  EXPECT_THAT(complaint("imgs/0 sample_9.png 0 1\n"), HasSubstr("sample_9.png: cannot read"));
  EXPECT_THAT(complaint("\x93NUMPY is binary, this is a text that begins like it"),
              HasSubstr("a NumPy array; the text that numpy.savetxt writes"));
  EXPECT_THAT(complaint(std::string(40, '\0')), HasSubstr("not a text: 40 of 40 bytes"));
  std::filesystem::remove(folder + "/metadata/1.npy");
  EXPECT_THAT(folder_complaint(ImportFormat::kPathfinder, folder),
              HasSubstr("metadata: there is no file *.npy in the folder"));
}

TEST(ImportPathfinder, PatchesOfGrayLevels) {
  const std::string folder = pathfinder_folder();
  ImportOptions options;
  options.patch = 1;
  const TokenSet set = import_tokens(ImportFormat::kPathfinder, folder, options);
  EXPECT_EQ(set.features, 1);
  EXPECT_EQ(set.length(0), 6);
  EXPECT_NEAR(set.values.at(1), 2.0 / 255 - 1, 1e-7);
  EXPECT_EQ(set.values.at(5), 1);
}

/// An image of 2 x 4 pixels with palette colors, the first of which has red level `first`.
void put_color_image(const std::string& path, unsigned char first) {
  images::PngPalette palette{};
  for (std::size_t k = 0; k < palette.size(); ++k) {
    palette[k] = {static_cast<unsigned char>(first + k),
                  static_cast<unsigned char>(10 * k),
                  static_cast<unsigned char>(255 - k)};
  }
  put_file(path, images::encode_png({0, 1, 2, 3, 4, 5, 6, 7}, 2, 4, path, &palette));
}

TEST(ImportImages, PatchesOfColorsAFolderAClass) {
  const std::string folder = test::temporary_dir();
  put_color_image(folder + "/a_train/cat/1.png", 0);
  put_color_image(folder + "/a_train/ant/2.png", 1);
  put_color_image(folder + "/a_test/cat/3.png", 2);
  put_file(folder + "/a_test/cat/notes.txt", "not an image");
  ImportOptions options;
  options.patch = 2;
  const TokenSet set = import_tokens(ImportFormat::kImages, folder, options);
  EXPECT_THAT(set.class_names, ElementsAre("ant", "cat"));
  EXPECT_THAT(set.labels, ElementsAre(0, 1, 1));
  EXPECT_THAT(set.splits, ElementsAre(Split::kTrain, Split::kTrain, Split::kTest));
  ASSERT_EQ(set.features, 12);
  ASSERT_EQ(set.length(2), 2);
  const auto value = [](int level) { return static_cast<float>(level) / 127.5F - 1; };
  // The second patch of cat/3.png: pixels 2, 3, then 6, 7.
  std::vector<float> wanted;
  for (const int k : {2, 3, 6, 7})
    wanted.insert(wanted.end(), {value(2 + k), value(10 * k), value(255 - k)});
  const auto rows = set.feature_rows(2);
  EXPECT_THAT(std::vector<float>(rows.begin() + 12, rows.end()),
              ::testing::Pointwise(::testing::FloatEq(), wanted));
  // Without patches the import gives gray levels.
  const TokenSet gray = import_tokens(ImportFormat::kImages, folder);
  EXPECT_EQ(gray.vocabulary, 256);
  EXPECT_EQ(gray.sequence(2)[3], (299 * 5 + 587 * 30 + 114 * 252 + 500) / 1000);
  put_color_image(folder + "/a_test/dog/4.png", 0);
  EXPECT_THAT(folder_complaint(ImportFormat::kImages, folder), HasSubstr("the class 'dog'"));
  std::filesystem::remove_all(folder + "/a_test/dog");
  write_png(folder + "/a_test/cat/5.png", Matrix::Zero(4, 2));
  EXPECT_THAT(folder_complaint(ImportFormat::kImages, folder),
              HasSubstr("5.png: 4 x 2 pixels; the images before have 2 x 4"));
  put_file(folder + "/a_test/cat/5.png", "rubbish");
  EXPECT_THAT(folder_complaint(ImportFormat::kImages, folder, options),
              HasSubstr("5.png: damaged PNG"));
  std::filesystem::remove_all(folder + "/a_test/cat");
  put_file(folder + "/a_test/cat/notes.txt", "not an image");
  EXPECT_THAT(folder_complaint(ImportFormat::kImages, folder),
              HasSubstr("cat: there is no file *.png"));
}

TEST(ImportPathfinder, ImagesThatAreRefused) {
  const std::string folder = pathfinder_folder();
  const std::string image = folder + "/imgs/0/sample_1.png";
  const auto complaint = [&] { return folder_complaint(ImportFormat::kPathfinder, folder); };
  write_png(image, Matrix::Zero(3, 3));
  EXPECT_THAT(complaint(), HasSubstr("sample_1.png: 3 x 3 pixels; the images before have 2 x 3"));
  test::write_file(image, "rubbish");
  EXPECT_THAT(complaint(), HasSubstr("sample_1.png: damaged PNG"));
  test::write_file(image, std::string((1 << 22) + 1, 'x'));
  EXPECT_THAT(complaint(), HasSubstr("4194305 bytes; an image may have at most 4194304"));
  test::write_file(image, "");
  EXPECT_THAT(complaint(), HasSubstr("sample_1.png: the file is empty; skip_empty"));
  ImportOptions options;
  options.skip_empty = true;
  EXPECT_EQ(import_tokens(ImportFormat::kPathfinder, folder, options).size(), 1);
}

}  // namespace
}  // namespace matapprox::tasks
