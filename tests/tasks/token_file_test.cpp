#include "matapprox/tasks/token_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Three sequences over 5 tokens and 2 classes.
TokenSet small_token_set() {
  TokenSet set;
  set.vocabulary = 5;
  set.classes = 2;
  set.source = "by hand";
  set.tokens = {4, 0, 1, 3, 3, 2};
  set.ends = {1, 4, 6};
  set.labels = {1, 0, 1};
  set.splits = {Split::kTrain, Split::kValidation, Split::kTest};
  return set;
}

std::string token_path() { return test::temporary_dir() + "/a.h5"; }

/// A token file put together with the HDF5 library alone.
class RawTokenFile {
 public:
  explicit RawTokenFile(const std::string& path)
      : file_(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~RawTokenFile() { H5Fclose(file_); }
  RawTokenFile(const RawTokenFile&) = delete;
  RawTokenFile& operator=(const RawTokenFile&) = delete;

  void text(const char* name, const std::string& value) const {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, value.size());
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t made = H5Acreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, type, value.data());
    H5Aclose(made);
    H5Sclose(space);
    H5Tclose(type);
  }
  void integer(const char* name, std::int64_t value) const {
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t made = H5Acreate2(file_, name, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(made, H5T_NATIVE_INT64, &value);
    H5Aclose(made);
    H5Sclose(space);
  }
  void numbers(const char* name,
               hid_t type,
               const std::vector<hsize_t>& extents,
               const std::vector<std::int64_t>& values) const {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t made = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(made);
    H5Sclose(space);
  }
  void head(std::int64_t vocabulary, std::int64_t classes) const {
    text("format", "matapprox tokens");
    integer("format_version", 1);
    integer("vocabulary", vocabulary);
    integer("classes", classes);
    text("source", "raw");
  }

 private:
  hid_t file_;
};

/// What is said about a file with two rows of three tokens, vocabulary 4, 2 classes.
std::string raw_complaint(const std::vector<std::int64_t>& tokens,
                          const std::vector<std::int64_t>& lengths,
                          const std::vector<std::int64_t>& labels,
                          hid_t type = H5T_STD_I64LE) {
  const std::string path = token_path();
  {
    const RawTokenFile file(path);
    file.head(4, 2);
    file.numbers("tokens", type, {2, 3}, tokens);
    file.numbers("lengths", type, {lengths.size()}, lengths);
    file.numbers("labels", type, {labels.size()}, labels);
  }
  return test::complaint_of([&] { read_token_file(path); });
}

TEST(TokenFile, RoundTrip) {
  TokenSet set = small_token_set();
  set.token_names = {"a", "", " ", "\u00fc", "e"};
  set.class_names = {"no", "yes"};
  const std::string path = token_path();
  write_token_file(path, set);
  const TokenSet back = read_token_file(path);
  EXPECT_EQ(back.vocabulary, 5);
  EXPECT_EQ(back.classes, 2);
  EXPECT_EQ(back.source, "by hand");
  EXPECT_EQ(back.tokens, set.tokens);
  EXPECT_EQ(back.ends, set.ends);
  EXPECT_EQ(back.labels, set.labels);
  EXPECT_EQ(back.splits, set.splits);
  EXPECT_EQ(back.token_names, set.token_names);
  EXPECT_EQ(back.class_names, set.class_names);
  set.splits.clear();
  write_token_file(path, set);
  EXPECT_TRUE(read_token_file(path).splits.empty());
}

/// The small set with sets of labels.
TokenSet label_set() {
  TokenSet set = small_token_set();
  set.labels.clear();
  set.targets = {1, 0, 0, 0, 1, 1};
  return set;
}

std::int64_t version_of(const std::string& path) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(file, "format_version", H5P_DEFAULT);
  std::int64_t version = 0;
  H5Aread(attribute, H5T_NATIVE_INT64, &version);
  H5Aclose(attribute);
  H5Fclose(file);
  return version;
}

TEST(TokenFile, SetsOfLabelsComeBack) {
  const std::string path = token_path();
  write_token_file(path, label_set());
  EXPECT_EQ(version_of(path), 2);
  const TokenSet back = read_token_file(path);
  EXPECT_TRUE(back.labels.empty());
  EXPECT_EQ(back.targets, label_set().targets);
  EXPECT_THAT(back.target(2), ElementsAre(1, 1));
  // What version 1 can say is written as such.
  write_token_file(path, small_token_set());
  EXPECT_EQ(version_of(path), 1);
}

/// Three sequences of 1 to 3 tokens with two features each.
TokenSet feature_set() {
  TokenSet set = small_token_set();
  set.vocabulary = 0;
  set.tokens.clear();
  set.features = 2;
  set.values = {0.5F, -1, 1e-30F, 2, 3, 4, 5, 6, 7, 8, 9, 0.1F};
  return set;
}

TEST(TokenFile, FeaturesComeBackToTheBit) {
  const std::string path = token_path();
  const TokenSet set = feature_set();
  write_token_file(path, set);
  EXPECT_EQ(version_of(path), 2);
  const TokenSet back = read_token_file(path);
  EXPECT_EQ(back.features, 2);
  EXPECT_EQ(back.vocabulary, 0);
  EXPECT_TRUE(back.tokens.empty());
  EXPECT_EQ(back.values, set.values);
  EXPECT_EQ(back.ends, set.ends);
  EXPECT_EQ(back.labels, set.labels);
  TokenFileOptions options;
  options.path = path;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().features, 2);
  EXPECT_EQ(task->shape().vocabulary, 0);
  EXPECT_EQ(task->shape().length, 3);
  Sample sample;
  sample.tokens = {1};
  task->make(Split::kTest, 0, sample);
  EXPECT_TRUE(sample.tokens.empty());
  EXPECT_THAT(sample.features, ElementsAre(7, 8, 9, 0.1F, 0, 0));
  EXPECT_THAT(sample.mask, ElementsAre(1, 1, 0));
  EXPECT_EQ(sample.label, 1);
  EXPECT_EQ(task->baselines(Split::kTest, 1).size(), 1U);  // no first token
}

TEST(TokenFile, FeaturesAreChecked) {
  const std::string path = token_path();
  const auto complaint = [&](std::int64_t features,
                             const std::vector<hsize_t>& extents,
                             const std::vector<std::int64_t>& lengths) {
    {
      const RawTokenFile file(path);
      file.text("format", "matapprox tokens");
      file.integer("format_version", 2);
      file.integer("features", features);
      file.integer("classes", 2);
      file.text("source", "raw");
      file.numbers("features", H5T_IEEE_F32LE, extents, {1, 2, 3, 4, 5, 6, 7, 8});
      file.numbers("lengths", H5T_STD_I32LE, {2}, lengths);
      file.numbers("labels", H5T_STD_I32LE, {2}, {0, 1});
    }
    return test::complaint_of([&] { read_token_file(path); });
  };
  EXPECT_EQ(complaint(2, {2, 4}, {1, 2}), "no error");
  EXPECT_THAT(read_token_file(path).values, ElementsAre(1, 2, 5, 6, 7, 8));
  EXPECT_THAT(complaint(3, {2, 4}, {1, 1}),
              HasSubstr("'features' must have two extents, n and 3 N"));
  EXPECT_THAT(complaint(2, {2, 4}, {1, 3}), HasSubstr("row 1: length 3 is outside 1..2"));
  EXPECT_THAT(complaint(0, {2, 4}, {1, 1}), HasSubstr("features"));
  EXPECT_THAT(complaint((1 << 20) + 1, {2, 4}, {1, 1}), HasSubstr("features"));
  EXPECT_THAT(complaint(1, {8}, {1, 1}), HasSubstr("two extents"));
  TokenSet set = feature_set();
  set.values[3] = std::numeric_limits<float>::infinity();
  EXPECT_REFUSED(
      InvalidArgument, write_token_file(path, set), "sequence 1: a feature is not finite");
  set = feature_set();
  set.values.pop_back();
  EXPECT_REFUSED(InvalidArgument, write_token_file(path, set), "11 numbers, not a multiple of 2");
  set = feature_set();
  set.vocabulary = 5;
  EXPECT_REFUSED(InvalidArgument, write_token_file(path, set), "both token ids and features");
}

TEST(TokenFile, TargetsAreChecked) {
  const std::string path = token_path();
  const auto complaint = [&](const std::vector<std::int64_t>& targets,
                             const std::vector<hsize_t>& extents,
                             bool labels_too = false) {
    {
      const RawTokenFile file(path);
      file.head(4, 2);
      file.numbers("tokens", H5T_STD_I32LE, {2, 1}, {1, 2});
      file.numbers("lengths", H5T_STD_I32LE, {2}, {1, 1});
      file.numbers("targets", H5T_STD_I8LE, extents, targets);
      if (labels_too) file.numbers("labels", H5T_STD_I32LE, {2}, {0, 1});
    }
    return test::complaint_of([&] { read_token_file(path); });
  };
  EXPECT_EQ(complaint({1, 0, 1, 1}, {2, 2}), "no error");
  EXPECT_THAT(complaint({1, 0, 2, 1}, {2, 2}), HasSubstr("row 1: target 0 is 2, not 0 or 1"));
  EXPECT_THAT(complaint({1, 0, -1, 1}, {2, 2}), HasSubstr("target 0 is -1, not 0 or 1"));
  EXPECT_THAT(complaint({1, 0, 1, 1, 1, 1}, {2, 3}), HasSubstr("'targets'"));
  EXPECT_THAT(complaint({1, 0, 1, 1}, {2, 2}, true), HasSubstr("both datasets"));
}

TEST(TokenFileTask, SetsOfLabelsAreAnswersWithBaselines) {
  TokenSet set;
  set.vocabulary = 40;
  set.classes = 3;
  for (std::int32_t i = 0; i < 40; ++i) {
    set.tokens.push_back(i);
    set.ends.push_back(i + 1);
    // Label 0 is on three of four, label 1 on one of four, label 2 on none.
    for (const bool has : {i % 4 != 0, i % 4 == 1, false}) set.targets.push_back(has ? 1 : 0);
  }
  TokenFileOptions options;
  options.path = token_path();
  write_token_file(options.path, set);
  options.undivided = true;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().answer, Answer::kLabels);
  EXPECT_EQ(task->shape().classes, 3);
  Sample sample;
  for (Index i = 0; i < 40; ++i) {
    task->make(Split::kTest, i, sample);
    const std::int32_t row = sample.tokens[0];
    EXPECT_THAT(sample.labels, ElementsAre(row % 4 != 0 ? 1 : 0, row % 4 == 1 ? 1 : 0, 0));
  }
  const auto baselines = task->baselines(Split::kTest, 1000);
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].name, "labels of most samples");
  EXPECT_NEAR(baselines[0].error, (0.25 + 0.25) / 3, 1e-12);
  EXPECT_NEAR(baselines[1].error, (0.75 + 0.25) / 3, 1e-12);
  // Folds keep the sets apart: 10 rows of each of 4 kinds, 5 folds.
  options.undivided = false;
  options.folds = 5;
  const auto fold = token_file_task(options, 1);
  std::map<std::vector<std::int32_t>, Index> counts;
  ASSERT_EQ(fold->size(Split::kTest), 8);
  for (Index i = 0; i < 8; ++i) {
    fold->make(Split::kTest, i, sample);
    ++counts[sample.labels];
  }
  EXPECT_EQ(counts[std::vector<std::int32_t>({0, 0, 0})], 2);
  EXPECT_EQ(counts[std::vector<std::int32_t>({1, 1, 0})], 2);
  EXPECT_EQ(counts[std::vector<std::int32_t>({1, 0, 0})], 4);
}

TEST(TokenFile, DatasetsAreAsDocumented) {
  const std::string path = token_path();
  write_token_file(path, small_token_set());
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const auto read = [&](const char* name, std::size_t count, hid_t type) {
    std::vector<std::int64_t> values(count);
    const hid_t made = H5Dopen2(file, name, H5P_DEFAULT);
    const hid_t found = H5Dget_type(made);
    EXPECT_GT(H5Tequal(found, type), 0) << name;
    EXPECT_EQ(H5Dget_storage_size(made) > 0, true);
    EXPECT_GE(H5Dread(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    H5Tclose(found);
    H5Dclose(made);
    return values;
  };
  EXPECT_THAT(read("tokens", 9, H5T_STD_I32LE), ElementsAre(4, 0, 0, 0, 1, 3, 3, 2, 0));
  EXPECT_THAT(read("lengths", 3, H5T_STD_I32LE), ElementsAre(1, 3, 2));
  EXPECT_THAT(read("labels", 3, H5T_STD_I32LE), ElementsAre(1, 0, 1));
  EXPECT_THAT(read("split", 3, H5T_STD_I8LE), ElementsAre(0, 1, 2));
  H5Fclose(file);
}

TEST(TokenFile, FilesOfOtherProgramsInAnyIntegerType) {
  for (const hid_t type : {H5T_STD_U8LE, H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_U32LE}) {
    const std::string path = token_path();
    {
      const RawTokenFile file(path);
      file.head(256, 2);
      file.numbers("tokens", type, {2, 2}, {200, 7, 127, 128});
      file.numbers("lengths", type, {2}, {1, 2});
      file.numbers("labels", type, {2}, {0, 1});
    }
    EXPECT_THAT(read_token_file(path).tokens, ElementsAre(200, 127, 128));
  }
}

TEST(TokenFile, EveryNumberIsChecked) {
  EXPECT_EQ(raw_complaint({0, 1, 2, 3, -9, 99}, {3, 1}, {0, 1}), "no error");  // behind the length
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 4, 0}, {3, 2}, {0, 1}),
              HasSubstr("a.h5: row 1: token 1 is 4, outside 0..3"));
  EXPECT_THAT(raw_complaint({0, -1, 2, 3, 1, 0}, {3, 2}, {0, 1}),
              HasSubstr("row 0: token 1 is -1, outside 0..3"));
  EXPECT_THAT(raw_complaint({0, std::int64_t{1} << 32, 2, 3, 1, 0}, {3, 2}, {0, 1}),
              HasSubstr("row 0: token 1 is 4294967296, outside"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {3, 4}, {0, 1}),
              HasSubstr("row 1: length 4 is outside 1..3"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {0, 3}, {0, 1}),
              HasSubstr("row 0: length 0 is outside 1..3"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {3, 3}, {2, 1}),
              HasSubstr("row 0: label 2 is outside 0..1"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {3, 3}, {0, -1}),
              HasSubstr("row 1: label -1 is outside 0..1"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {3, 3}, {0}),
              HasSubstr("dataset 'labels' is 1, not 2 as the rest of the file says"));
  EXPECT_THAT(raw_complaint({0, 1, 2, 3, 3, 0}, {3, 3}, {0, 1}, H5T_IEEE_F32LE),
              HasSubstr("dataset 'lengths' does not hold integers"));
}

TEST(TokenFile, FilesThatAreRefused) {
  const std::string path = token_path();
  const auto complaint = [&] { return test::complaint_of([&] { read_token_file(path); }); };
  EXPECT_THAT(complaint(), HasSubstr("no such file"));
  test::write_file(path, "text");
  EXPECT_THAT(complaint(), HasSubstr("not an HDF5 file"));
  { const RawTokenFile file(path); }
  EXPECT_THAT(complaint(), HasSubstr("not a token file"));
  {
    const RawTokenFile file(path);
    file.text("format", "matapprox tokens");
    file.integer("format_version", 3);
  }
  EXPECT_THAT(complaint(), HasSubstr("format version 3 is newer than 2"));
  {
    const RawTokenFile file(path);
    file.head(0, 2);
  }
  EXPECT_THAT(complaint(), HasSubstr("vocabulary"));
  {
    const RawTokenFile file(path);
    file.head(4, 2);
  }
  EXPECT_THAT(complaint(), HasSubstr("dataset 'tokens' is missing"));
  {
    const RawTokenFile file(path);
    file.head(4, 2);
    file.numbers("tokens", H5T_STD_I32LE, {3}, {1, 2, 3});
  }
  EXPECT_THAT(complaint(), HasSubstr("must have two extents"));
}

TEST(TokenFile, DamageIsRefusedOrHarmless) {
  const std::string path = token_path();
  TokenSet set = small_token_set();
  write_token_file(path, set);
  const std::string whole = test::read_file(path);
  for (std::size_t k = 0; k < 10; ++k) {
    test::write_file(path, whole.substr(0, whole.size() * k / 10));
    EXPECT_THROW(read_token_file(path), FileError) << k;
  }
  for (std::size_t at = 7; at < whole.size(); at += whole.size() / 60) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x5A);
    test::write_file(path, damaged);
    try {
      const TokenSet back = read_token_file(path);
      EXPECT_EQ(back.tokens, set.tokens) << at;
      EXPECT_EQ(back.labels, set.labels) << at;
    } catch (const FileError&) {
      SUCCEED();
    }
  }
}

TEST(TokenFile, SetsThatCannotBeWritten) {
  const auto complaint = [](const auto& change) {
    TokenSet set = small_token_set();
    change(set);
    try {
      write_token_file(token_path(), set);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(complaint([](TokenSet& s) { s.tokens[1] = 5; }),
              HasSubstr("sequence 1: token 5 is outside 0..4"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.labels[2] = -1; }),
              HasSubstr("sequence 2: label -1 is outside 0..1"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.ends[0] = 0; }), HasSubstr("sequence 0 goes from"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.ends[2] = 7; }), HasSubstr("sequence 2 goes from"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.ends[2] = 5; }), HasSubstr("6 tokens, the sequences"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.labels.pop_back(); }), HasSubstr("3 sequences, 2"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.splits.pop_back(); }), HasSubstr("2 splits"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.vocabulary = 0; }), HasSubstr("vocabulary 0"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.classes = 0; }), HasSubstr("0 classes"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.class_names = {"a"}; }), HasSubstr("1 names for 2"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.token_names = {"a"}; }), HasSubstr("1 names for 5"));
  EXPECT_THAT(complaint([](TokenSet& s) { s.class_names = {"a\n", "b"}; }), HasSubstr("line end"));
  EXPECT_THAT(complaint([](TokenSet& s) {
                s.targets = {0, 1, 0, 1, 1, 1};
              }),
              HasSubstr("both labels and sets"));
  EXPECT_THAT(complaint([](TokenSet& s) {
                s = label_set();
                s.targets[3] = 2;
              }),
              HasSubstr("sequence 1: target 2 is not 0 or 1"));
  EXPECT_THAT(complaint([](TokenSet& s) {
                s = label_set();
                s.targets.pop_back();
              }),
              HasSubstr("5 targets for 3 sequences and 2 labels"));
  EXPECT_THAT(complaint([](TokenSet& s) { s = TokenSet{}; }), HasSubstr("there are no sequences"));
}

/// n sequences of one or two tokens; the label is 1 for every fourth, the first token says which.
std::string numbered_token_file(Index n) {
  TokenSet set;
  set.vocabulary = n;
  set.classes = 2;
  for (Index i = 0; i < n; ++i) {
    set.tokens.push_back(static_cast<std::int32_t>(i % 4));
    set.tokens.push_back(static_cast<std::int32_t>(i));
    set.ends.push_back(std::ssize(set.tokens));
    set.labels.push_back(i % 4 == 3 ? 1 : 0);
  }
  std::string path = token_path();
  write_token_file(path, set);
  return path;
}

std::vector<std::int32_t> rows_seen(const Task& task, Split split) {
  std::vector<std::int32_t> rows;
  Sample sample;
  for (Index i = 0; i < task.size(split); ++i) {
    task.make(split, i, sample);
    rows.push_back(sample.tokens[1]);
  }
  return rows;
}

TEST(TokenFileTask, SamplesArePaddedAndMasked) {
  const std::string path = token_path();
  write_token_file(path, small_token_set());
  TokenFileOptions options;
  options.path = path;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().length, 3);
  EXPECT_EQ(task->shape().vocabulary, 5);
  EXPECT_EQ(task->shape().classes, 2);
  EXPECT_EQ(task->shape().features, 0);
  EXPECT_EQ(task->shape().answer, Answer::kClass);
  Sample sample;
  sample.features = {1};
  sample.labels = {1};
  task->make(Split::kTest, 0, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(3, 2, 0));
  EXPECT_THAT(sample.mask, ElementsAre(1, 1, 0));
  EXPECT_EQ(sample.label, 1);
  EXPECT_TRUE(sample.features.empty());
  EXPECT_TRUE(sample.labels.empty());
  task->make(Split::kTrain, 0, sample);
  EXPECT_THAT(sample.tokens, ElementsAre(4, 0, 0));
  EXPECT_THROW(task->make(Split::kTrain, 1, sample), InvalidArgument);
}

/// How many rows of the class 0 and 1 a split has, in a numbered file.
std::pair<Index, Index> class_counts(const std::vector<std::int32_t>& rows) {
  const auto ones =
      std::count_if(rows.begin(), rows.end(), [](std::int32_t row) { return row % 4 == 3; });
  return {std::ssize(rows) - ones, ones};
}

TEST(TokenFileTask, FoldsAreStratifiedAndTestEachRowOnce) {
  constexpr Index kRows = 103;  // 78 of class 0, 25 of class 1
  TokenFileOptions options;
  options.path = numbered_token_file(kRows);
  options.folds = 4;
  std::multiset<std::int32_t> tested;
  std::vector<std::vector<std::int32_t>> folds;
  for (options.fold = 0; options.fold < options.folds; ++options.fold) {
    const auto task = token_file_task(options, 1);
    auto rows = rows_seen(*task, Split::kTest);
    const auto [zeros, ones] = class_counts(rows);
    EXPECT_TRUE(zeros == 19 || zeros == 20) << zeros;
    EXPECT_TRUE(ones == 6 || ones == 7) << ones;
    EXPECT_TRUE(rows.size() == 25 || rows.size() == 26) << rows.size();
    tested.insert(rows.begin(), rows.end());
    // No other split has a row of the test, and all rows are in one.
    std::set<std::int32_t> all(rows.begin(), rows.end());
    for (const Split split : {Split::kTrain, Split::kValidation}) {
      const auto others = rows_seen(*task, split);
      for (const std::int32_t row : others) EXPECT_TRUE(all.insert(row).second) << row;
    }
    EXPECT_EQ(std::ssize(all), kRows);
    EXPECT_EQ(task->size(Split::kValidation),
              std::lround(0.1 * static_cast<double>(kRows - std::ssize(rows))));
    std::sort(rows.begin(), rows.end());
    folds.push_back(std::move(rows));
  }
  EXPECT_EQ(std::ssize(tested), kRows);
  EXPECT_EQ(std::ssize(std::set(tested.begin(), tested.end())), kRows);
  // Another seed of the data sees the same fold, another fold_seed another one.
  options.fold = 2;
  auto same = rows_seen(*token_file_task(options, 7), Split::kTest);
  std::sort(same.begin(), same.end());
  EXPECT_EQ(same, folds[2]);
  options.fold_seed = 2;
  auto other = rows_seen(*token_file_task(options, 1), Split::kTest);
  std::sort(other.begin(), other.end());
  EXPECT_NE(other, folds[2]);
}

TEST(TokenFileTask, FoldsTakeRowsOfAnySplit) {
  const std::string path = token_path();
  write_token_file(path, small_token_set());
  TokenFileOptions options;
  options.path = path;
  options.folds = 3;
  std::set<std::int32_t> first_tokens;
  Sample sample;
  for (options.fold = 0; options.fold < 3; ++options.fold) {
    const auto task = token_file_task(options, 1);
    ASSERT_EQ(task->size(Split::kTest), 1);
    task->make(Split::kTest, 0, sample);
    first_tokens.insert(sample.tokens[0]);
  }
  EXPECT_THAT(first_tokens, ElementsAre(0, 3, 4));
}

TEST(TokenFileTask, AWholeFileCanBeEverySplitAndPadded) {
  TokenFileOptions options;
  options.path = numbered_token_file(10);
  options.undivided = true;
  options.length = 5;
  const auto task = token_file_task(options, 1);
  EXPECT_EQ(task->shape().length, 5);
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const auto rows = rows_seen(*task, split);
    EXPECT_EQ(std::set(rows.begin(), rows.end()).size(), 10U);
  }
  Sample sample;
  task->make(Split::kTest, 0, sample);
  EXPECT_EQ(sample.tokens.size(), 5U);
  EXPECT_THAT(sample.mask, ElementsAre(1, 1, 0, 0, 0));
}

TEST(TokenFileTask, FoldsAndLengthsThatAreRefused) {
  TokenFileOptions options;
  options.path = numbered_token_file(10);
  const auto refused = [&](const auto& change, const char* what) {
    TokenFileOptions changed = options;
    change(changed);
    EXPECT_REFUSED(InvalidArgument, token_file_task(changed, 1), what);
  };
  refused([](auto& o) { o.folds = 1; }, "token_file: folds 1 is outside 2..1000");
  refused([](auto& o) { o.folds = -2; }, "folds -2 is outside 2..1000");
  refused([](auto& o) { o.folds = 11; }, "11 folds are more than the 10 rows");
  refused([](auto& o) { o.fold = 1; }, "fold 1 is outside 0..0");
  refused([](auto& o) { o.folds = o.fold = 5; }, "fold 5 is outside 0..4");
  refused([](auto& o) { o.length = 1; }, "length 1 is below 2, the longest sequence");
  refused([](auto& o) { o.length = -1; }, "length -1 is outside 0..16777216");
  refused(
      [](auto& o) {
        o.folds = 2;
        o.undivided = true;
      },
      "exclude each other");
}

TEST(TokenFileTask, SharesAreDisjointAndTheSameForEverySeed) {
  TokenFileOptions options;
  options.path = numbered_token_file(200);
  options.validation_share = 0.25;
  options.test_share = 0.1;
  const auto one = token_file_task(options, 1);
  const auto two = token_file_task(options, 2);
  EXPECT_EQ(one->size(Split::kTest), 20);        // of 200
  EXPECT_EQ(one->size(Split::kValidation), 45);  // of the 180 that are left
  EXPECT_EQ(one->size(Split::kTrain), 135);
  std::set<std::int32_t> all;
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    const auto rows = rows_seen(*one, split);
    const auto others = rows_seen(*two, split);
    all.insert(rows.begin(), rows.end());
    EXPECT_NE(rows, others);
    EXPECT_FALSE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_TRUE(std::is_permutation(rows.begin(), rows.end(), others.begin(), others.end()));
    EXPECT_EQ(rows, rows_seen(*token_file_task(options, 1), split));
  }
  EXPECT_EQ(all.size(), 200U);
}

TEST(TokenFileTask, BaselinesAreThoseOfTheFile) {
  TokenFileOptions options;
  options.path = numbered_token_file(400);
  const auto task = token_file_task(options, 3);
  const auto baselines = task->baselines(Split::kTest, 30);
  double wanted = 0;
  Sample sample;
  for (Index i = 0; i < 30; ++i) {
    task->make(Split::kTest, i, sample);
    wanted += sample.label == 1 ? 1.0 / 30 : 0.0;  // the majority class is 0
  }
  ASSERT_EQ(baselines.size(), 2U);
  EXPECT_EQ(baselines[0].name, "majority class");
  EXPECT_NEAR(baselines[0].error, wanted, 1e-12);
  EXPECT_GT(baselines[0].error, 0);
  EXPECT_EQ(baselines[0].samples, 30);
  EXPECT_EQ(baselines[1].name, "first token");
  EXPECT_EQ(baselines[1].error, 0);  // it tells the class
  EXPECT_EQ(task->baselines(Split::kTest, 100000)[0].samples, task->size(Split::kTest));
}

TEST(TokenFileTask, Refusals) {
  const auto make = [](const TokenFileOptions& options) { return token_file_task(options, 1); };
  TokenFileOptions options;
  EXPECT_REFUSED(InvalidArgument, make(options), "path must name a token file");
  options.path = numbered_token_file(2);
  EXPECT_REFUSED(FileError, make(options), "2 rows are too few");
  options.test_share = 0;
  EXPECT_REFUSED(InvalidArgument, make(options), "test_share 0 is outside 0..0.5");
  options.test_share = 0.1;
  options.validation_share = 0.6;
  EXPECT_REFUSED(InvalidArgument, make(options), "validation_share 0.6");
  EXPECT_EQ(list_options(options).size(), 8U);
}

}  // namespace
}  // namespace matapprox::tasks
