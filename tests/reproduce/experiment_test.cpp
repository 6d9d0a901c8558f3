// Rows of an experiment on a GPU, whose kernels the host runs here, beside those of the CPU.

#include "experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attention/cuda/training_session.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/core/error.hpp"
#include "run_flags.hpp"
#include "support/paths.hpp"

namespace matapprox::app {
namespace {

using cuda::HostQueue;
using testing::AllOf;
using testing::HasSubstr;

std::vector<ExperimentRow> two_seeds() {
  std::vector<ExperimentRow> rows;
  for (const std::uint64_t seed : {1, 2}) {
    ExperimentRow row{"adding", "psf", "flatten", 13, seed, {}};
    row.described = described_run("adding",
                                  {{"length", "13"}},
                                  {{"attention", "psf"},
                                   {"block", "bare"},
                                   {"width", "6"},
                                   {"value_width", "4"},
                                   {"pool", "flatten"},
                                   {"steps", "6"},
                                   {"batch", "4"},
                                   {"evaluate_every", "3"},
                                   {"evaluation_samples", "20"}},
                                  seed);
    rows.push_back(std::move(row));
  }
  return rows;
}

ExperimentOptions kept_in(const std::string& name) {
  ExperimentOptions options;
  options.folder = test::temporary_dir() + "/" + name;
  options.test_samples = 50;
  std::filesystem::create_directories(options.folder);
  return options;
}

/// The rows with the GPU's kernels on the host; counts the trainers that were moved there.
struct RunOnHost {
  HostQueue queue;
  Index moved = 0;
  double planned_seconds = -1;
  std::atomic<bool> stop = false;

  ExperimentResult run(ExperimentOptions options) {
    options.use_gpu = [this](training::Trainer& trainer) {
      trainer.use_device([this](const auto& shape, const auto& settings) {
        return std::make_unique<cuda::TrainingSessionOn<HostQueue>>(queue, shape, settings);
      });
      ++moved;
      return true;
    };
    ExperimentEvents events;
    events.planned = [this](std::size_t, double seconds) { planned_seconds = seconds; };
    return run_experiment(two_seeds(), options, stop, events);
  }
};

TEST(ExperimentOnAGpu, RowsAgreeWithThoseOfTheCpu) {
  const std::atomic<bool> stop = false;
  const ExperimentResult cpu = run_experiment(two_seeds(), kept_in("cpu"), stop, {});
  RunOnHost gpu;
  const ExperimentResult found = gpu.run(kept_in("gpu"));
  EXPECT_EQ(gpu.moved, 3);  // one for the estimate, which both seeds share
  EXPECT_GT(gpu.planned_seconds, 0);
  ASSERT_EQ(found.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(cpu.rows[i].device, "cpu");
    EXPECT_EQ(found.rows[i].device, "cuda");
    EXPECT_NEAR(found.rows[i].test.loss, cpu.rows[i].test.loss, 1e-5 * cpu.rows[i].test.loss);
    EXPECT_NE(found.rows[i].test.loss, found.rows[1 - i].test.loss);
  }
}

TEST(ExperimentOnAGpu, KeptRowsAreGoodForAnyDeviceAndSayTheirs) {
  RunOnHost gpu;
  const ExperimentOptions options = kept_in("kept");
  const ExperimentResult made = gpu.run(options);
  const std::atomic<bool> stop = false;
  const ExperimentResult again = run_experiment(two_seeds(), options, stop, {});
  ASSERT_EQ(again.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(again.rows[i].reused);
    EXPECT_EQ(again.rows[i].test.loss, made.rows[i].test.loss);
    EXPECT_EQ(to_json(again.rows[i]).at("device"), "cuda");
  }
}

TEST(ExperimentOnAGpu, RowsThatItDoesNotTrainAreTheCpus) {
  ExperimentOptions options = kept_in("refused");
  options.use_gpu = [](training::Trainer&) { return false; };
  const std::atomic<bool> stop = false;
  const ExperimentResult result = run_experiment(two_seeds(), options, stop, {});
  ASSERT_EQ(result.rows.size(), 2U);
  for (const FinishedRow& row : result.rows) EXPECT_EQ(row.device, "cpu");
}

TEST(ExperimentOnAGpu, OneThatIsAskedForAndRefusesEndsTheExperimentBeforeItsFirstRow) {
  ExperimentOptions options = kept_in("none");
  options.use_gpu = [](training::Trainer&) -> bool { throw NotAvailable("no room"); };
  const std::atomic<bool> stop = false;
  EXPECT_THROW(run_experiment(two_seeds(), options, stop, {}), NotAvailable);
  EXPECT_TRUE(std::filesystem::is_empty(options.folder));
}

TEST(ExperimentPlan, SaysWhereRowsAreTrained) {
  ExperimentOptions options;
  EXPECT_THAT(plan_text(7, 9, "rows", 200, options),
              AllOf(HasSubstr("7 of 9 rows"), HasSubstr("threads")));
  options.use_gpu = [](training::Trainer&) { return true; };
  EXPECT_THAT(plan_text(7, 9, "rows", 200, options), HasSubstr("with the GPU"));
}

}  // namespace
}  // namespace matapprox::app
