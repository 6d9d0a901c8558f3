#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attention/tasks/token_sets.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;

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
  // A set that version 1 can represent is written as version 1.
  write_token_file(path, small_token_set());
  EXPECT_EQ(version_of(path), 1);
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
  EXPECT_EQ(task->baselines(Split::kTest, 1).size(), 1U);  // features have no first token
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

}  // namespace
}  // namespace matapprox::tasks
