// `attention train --tokenwise-baseline`, and the messages about a mechanism's shape before the
// first step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
ProgramResult train(const Arguments& more) {
  Arguments words{"attention",
                  "train",
                  "--task",
                  "adding",
                  "--width",
                  "16",
                  "--pool",
                  "flatten",
                  "--evaluation-samples",
                  "50",
                  "--test-samples",
                  "300",
                  "-o",
                  temporary_dir() + "/m.h5"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

/// The baseline equals a run with tokenwise attention in place of the mechanism.
TEST(CliAttentionBaseline, ItIsTheRunWithTokenwiseAttention) {
  const Arguments brief{"--steps", "60", "--evaluate-every", "20", "--json", "-"};
  const auto with = [&](Arguments more) {
    more.insert(more.end(), {"--length", "16"});
    more.insert(more.end(), brief.begin(), brief.end());
    return train(more).json();
  };
  const json with_baseline =
      with({"--attention", "softmax", "--heads", "2", "--tokenwise-baseline"});
  const json alone = with({"--attention", "softmax", "--heads", "2", "--force"});
  const json tokenwise = with({"--attention", "tokenwise", "--heads", "2", "--force"});
  EXPECT_EQ(with_baseline["result"], alone["result"]);
  ASSERT_EQ(with_baseline["baselines"].size(), alone["baselines"].size() + 1);
  const json& baseline = with_baseline["baselines"].back();
  EXPECT_EQ(baseline["name"], "the same model with tokenwise attention, 60 steps");
  EXPECT_EQ(baseline["error"], tokenwise["result"]["error"]);
  EXPECT_NE(baseline["error"], alone["result"]["error"]);
  EXPECT_EQ(baseline["samples"], 300);
}

/// Former names of options are accepted with a note, on the command line and in a file.
TEST(CliAttentionBaseline, OldNamesOfOptionsAreNoted) {
  const std::string config = temporary_dir() + "/run.toml";
  write_file(config, "carry_scores = true\n");
  const ProgramResult run = train({"--attention",
                                   "softmax",
                                   "--heads",
                                   "2",
                                   "--control",
                                   "--config",
                                   config,
                                   "--length",
                                   "16",
                                   "--steps",
                                   "2",
                                   "--evaluate-every",
                                   "2",
                                   "--json",
                                   "-"});
  EXPECT_THAT(run.err, HasSubstr("--control is now called --tokenwise-baseline"));
  EXPECT_THAT(run.err, HasSubstr(config + ": carry_scores is now called residual_scores"));
  const json result = run.json();
  EXPECT_EQ(result["baselines"].back()["name"], "the same model with tokenwise attention, 2 steps");
  EXPECT_EQ(result["model"]["attention_options"]["residual_scores"], "true");
}

TEST(CliAttentionBaseline, WhatIsFrozenIsTrainedInTheBaseline) {
  const ProgramResult run = train({"--attention",
                                   "softmax",
                                   "--freeze",
                                   "block0.attention.query",
                                   "--length",
                                   "16",
                                   "--steps",
                                   "4",
                                   "--tokenwise-baseline"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("the same model with tokenwise attention, 4 steps"));
}

/// At length 50 the pattern of the module has too few factors, at 64 it has enough.
TEST(CliAttentionBaseline, DistancesThatAPatternCannotReachAreSaid) {
  const Arguments torch{"--pattern", "torch", "--steps", "2", "--force", "--length"};
  const auto said_at = [&](const std::string& length) {
    Arguments words = torch;
    words.push_back(length);
    return train(words).err;
  };
  EXPECT_THAT(said_at("50"), HasSubstr("psf: the pattern cannot reach the distances"));
  EXPECT_THAT(said_at("64"), Not(HasSubstr("cannot reach")));
}

}  // namespace
}  // namespace matapprox::test
