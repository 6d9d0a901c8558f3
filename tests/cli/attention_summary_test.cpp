// `attention map --summary`: one matrix for a model with several layers and heads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
/// A tiny model with two layers and two heads, and its `attention map`.
class CliAttentionSummary : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(train("20", model_), 0); }

  int train(const std::string& steps, const std::string& output) const {
    return run_program({"attention",   "train",
                        "--task",      "temporal_order",
                        "--length",    "12",
                        "--attention", "softmax",
                        "--width",     "8",
                        "--heads",     "2",
                        "--layers",    "2",
                        "--steps",     steps,
                        "--quiet",     "-o",
                        output,        "--test-samples",
                        "10",          "--evaluation-samples",
                        "10"})
        .exit_code;
  }
  ProgramResult map(const Arguments& more, const std::string& model) const {
    Arguments words{"attention", "map", model, "--quiet", "--force"};
    words.insert(words.end(), more.begin(), more.end());
    ProgramResult result = run_program(words);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result;
  }
  Matrix matrix(Arguments more, const std::string& model) const {
    const std::string path = folder_ + "/map.npy";
    more.insert(more.end(), {"-o", path});
    map(more, model);
    return read_npy(path);
  }
  /// Maximum over the heads, then mean over the layers, from the maps of single heads.
  Matrix expected(const std::string& sample, const std::string& model) const {
    const auto of = [&](const std::string& layer, const std::string& head) {
      return matrix({"--sample", sample, "--layer", layer, "--head", head}, model);
    };
    return (of("0", "0").cwiseMax(of("0", "1")) + of("1", "0").cwiseMax(of("1", "1"))) / 2;
  }

  std::string folder_ = temporary_dir();
  std::string model_ = folder_ + "/model.h5";
};

TEST_F(CliAttentionSummary, IsTheMeanOverLayersOfTheLargestOverHeads) {
  for (const char* sample : {"0", "3"}) {
    const Matrix S = matrix({"--summary", "--sample", sample}, model_);
    ASSERT_EQ(S.rows(), 12);
    EXPECT_LT((S - expected(sample, model_)).cwiseAbs().maxCoeff(), test::rounding(4));
    EXPECT_GT((S - matrix({"--sample", sample}, model_)).norm(), 1e-4 * S.norm());
  }
}

TEST_F(CliAttentionSummary, SaysWhatItIs) {
  const std::string image = folder_ + "/map.svg";
  const json said = map({"--summary", "-o", image, "--json", "-"}, model_).json();
  EXPECT_EQ(said["summary"], true);
  EXPECT_EQ(said["layer"], nullptr);
  EXPECT_EQ(said["head"], nullptr);
  EXPECT_EQ(said["rows"], 12);
  EXPECT_EQ(said["cols"], 12);
  EXPECT_THAT(read_file(image),
              HasSubstr("softmax, largest over heads, mean over layers, test sample 0"));
}

TEST_F(CliAttentionSummary, RowsAreThoseOfTheWholeMatrix) {
  const Matrix S = matrix({"--summary"}, model_);
  const Matrix two = matrix({"--summary", "--rows", "11,4"}, model_);
  ASSERT_EQ(two.rows(), 2);
  EXPECT_LT((two.row(0) - S.row(11)).norm(), 1e-14);
  EXPECT_LT((two.row(1) - S.row(4)).norm(), 1e-14);
}

/// [Singularformer, Sec. 5.2]
TEST_F(CliAttentionSummary, IsWhatTheCorrelationOfTwoModelsCompares) {
  // Both models have the same seed, so they see the same samples.
  const std::string other = folder_ + "/other.h5";
  ASSERT_EQ(train("1", other), 0);
  const json said = map({"--correlate", other, "--samples", "2", "--json", "-"}, model_).json();
  ASSERT_EQ(said["correlations"].size(), 2U);
  for (const std::size_t sample : {0U, 1U}) {
    const std::string number = std::to_string(sample);
    const double correlation =
        training::attention_correlation(expected(number, model_), expected(number, other));
    EXPECT_NEAR(said["correlations"][sample].get<double>(), correlation, 1e-12);
    EXPECT_LT(correlation, 0.9999);
  }
}

}  // namespace
}  // namespace matapprox::test
