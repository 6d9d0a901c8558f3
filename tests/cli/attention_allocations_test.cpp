// Calls of malloc, calloc and realloc in `attention train`, counted by glibc's libmemusage in
// another process, so that nothing in this process is replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <regex>

#include "support/paths.hpp"
#include "support/program_run.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

/// Number of calls that libmemusage reports, without aligned_alloc; empty if libmemusage is
/// missing.
std::optional<double> calls_in(const std::string& report) {
  const std::regex line("(malloc|realloc|calloc)\\|[^ ]* +([0-9]+)");
  double calls = 0;
  int lines = 0;
  for (std::sregex_iterator match(report.begin(), report.end(), line), end; match != end; ++match) {
    calls += std::stod((*match)[2]);
    ++lines;
  }
  return lines == 3 ? std::optional(calls) : std::nullopt;
}

std::optional<double> calls_of_training(const std::string& task,
                                        const std::string& mechanism,
                                        int steps,
                                        int batch) {
  const bool one_head = mechanism == "psf" || mechanism == "flash";
  setenv("LD_PRELOAD", "libmemusage.so", 1);
  const ProgramResult result = run_program({"attention",
                                            "train",
                                            "--task",
                                            task,
                                            "--length",
                                            "12",
                                            "--attention",
                                            mechanism,
                                            "--width",
                                            "8",
                                            "--heads",
                                            one_head ? "1" : "2",
                                            "--layers",
                                            "2",
                                            "--batch",
                                            std::to_string(batch),
                                            "--steps",
                                            std::to_string(steps),
                                            "--evaluate-every",
                                            "1000000",
                                            "--evaluation-samples",
                                            "5",
                                            "--test-samples",
                                            "5",
                                            "--threads",
                                            "1",
                                            "--quiet",
                                            "-o",
                                            temporary_dir() + "/model.h5"});
  unsetenv("LD_PRELOAD");
  EXPECT_EQ(result.exit_code, 0) << mechanism << ": " << result.err.substr(0, 200);
  return calls_in(result.err);
}

class CliAttentionAllocations : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer has an allocator of its own";
    if (!calls_of_training("temporal_order", "psf", 1, 1))
      GTEST_SKIP() << "glibc's libmemusage is not here";
  }
};

/// Mechanisms that `attention list` names.
std::vector<std::string> mechanisms() {
  const nlohmann::json listed = run_program({"attention", "list", "--json", "-"}).json();
  std::vector<std::string> names;
  for (const auto& each : listed["mechanisms"]) names.push_back(each["name"]);
  return names;
}

TEST_F(CliAttentionAllocations, AStepInTheSteadyStateHasNone) {
  constexpr int kSteps = 1000;
  const double few = calls_of_training("temporal_order", "psf", 100, 4).value();
  const double many = calls_of_training("temporal_order", "psf", 100 + kSteps, 4).value();
  EXPECT_EQ(std::round((many - few) / kSteps), 0);
}

/// Number of calls per sample beyond the fourth of a step: workspaces and groups are allocated
/// once.
double calls_of_a_sample(const std::string& task, const std::string& mechanism) {
  constexpr int kSteps = 100;
  const double few = calls_of_training(task, mechanism, kSteps, 4).value();
  const double many = calls_of_training(task, mechanism, kSteps, 12).value();
  return std::round((many - few) / (kSteps * 8));
}

TEST_F(CliAttentionAllocations, ASampleHasNoneInAnyMechanism) {
  const std::vector<std::string> all = mechanisms();
  EXPECT_GT(all.size(), 10U);
  for (const std::string& mechanism : all)
    EXPECT_EQ(calls_of_a_sample("temporal_order", mechanism), 0) << mechanism;
}

TEST_F(CliAttentionAllocations, ASampleOfFeaturesHasNone) {
  EXPECT_EQ(calls_of_a_sample("adding", "psf"), 0);
}

}  // namespace
}  // namespace matapprox::test
