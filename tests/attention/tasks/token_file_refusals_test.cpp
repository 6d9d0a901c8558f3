#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <limits>
#include <string>
#include <vector>

#include "attention/tasks/token_sets.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Error message for a file with two rows of three tokens, vocabulary 4, 2 classes.
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

TEST(TokenFile, EveryNumberIsChecked) {
  EXPECT_EQ(raw_complaint({0, 1, 2, 3, -9, 99}, {3, 1}, {0, 1}), "no error");  // after the length
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
  EXPECT_THAT(complaint([](TokenSet& s) { s.ends[2] = 5; }), HasSubstr("6 tokens; the sequences"));
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

}  // namespace
}  // namespace matapprox::tasks
