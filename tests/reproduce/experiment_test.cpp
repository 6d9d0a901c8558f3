// Rows of an experiment on a GPU, whose kernels run on the host here, compared with those of the
// CPU.

#include "experiment.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "matapprox/core/error.hpp"
#include "run_flags.hpp"
#include "support/device_models.hpp"
#include "support/paths.hpp"

namespace matapprox::app {
namespace {

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

/// Trains the rows with GPU kernels on the host; counts the trainers that were moved there.
struct RunOnHost {
  Index moved = 0;
  PlannedRows planned;
  std::atomic<bool> stop = false;

  ExperimentResult run(ExperimentOptions options) {
    options.use_gpu = [this](training::Trainer& trainer) {
      trainer.use_backend(make_host_backend);
      ++moved;
      return std::string();
    };
    ExperimentEvents events;
    events.planned = [this](const PlannedRows& rows) { planned = rows; };
    return run_experiment(two_seeds(), options, stop, events);
  }
};

TEST(ExperimentOnAGpu, RowsAgreeWithThoseOfTheCpu) {
  const std::atomic<bool> stop = false;
  const ExperimentResult cpu = run_experiment(two_seeds(), kept_in("cpu"), stop, {});
  RunOnHost gpu;
  const ExperimentResult found = gpu.run(kept_in("gpu"));
  EXPECT_EQ(gpu.moved, 3);  // one for the estimate, shared by both seeds
  EXPECT_EQ(gpu.planned.on_gpu, 2U);
  EXPECT_GT(gpu.planned.seconds, 0);
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
  options.use_gpu = [](training::Trainer&) { return "the model is too small"; };
  const std::atomic<bool> stop = false;
  ExperimentEvents events;
  PlannedRows planned;
  events.planned = [&](const PlannedRows& rows) { planned = rows; };
  const ExperimentResult result = run_experiment(two_seeds(), options, stop, events);
  EXPECT_EQ(planned.rows, 2U);
  EXPECT_EQ(planned.on_gpu, 0U);
  ASSERT_EQ(result.rows.size(), 2U);
  for (const FinishedRow& row : result.rows) EXPECT_EQ(row.device, "cpu");
}

TEST(ExperimentOnAGpu, OneThatIsAskedForAndRefusesEndsTheExperimentBeforeItsFirstRow) {
  ExperimentOptions options = kept_in("none");
  options.use_gpu = [](training::Trainer&) -> std::string { throw NotAvailable("no room"); };
  const std::atomic<bool> stop = false;
  try {
    run_experiment(two_seeds(), options, stop, {});
    ADD_FAILURE() << "nothing was thrown";
  } catch (const NotAvailable& error) {
    EXPECT_STREQ(error.what(), "adding-psf-flatten-13-seed1: no room");
  }
  EXPECT_TRUE(std::filesystem::is_empty(options.folder));
}

/// Runs until a row has taken `steps` steps.
void interrupt_after(Index steps, const ExperimentOptions& options) {
  std::atomic<bool> stop = false;
  ExperimentEvents events;
  events.progress = [&](const std::string&, double fraction) {
    if (fraction * 6 > static_cast<double>(steps) - 0.5) stop = true;
  };
  const ExperimentResult result = run_experiment(two_seeds(), options, stop, events);
  EXPECT_TRUE(result.interrupted);
  EXPECT_TRUE(result.rows.empty());
}

TEST(ExperimentOnAGpu, ARowOfTheCpuResumesThere) {
  const ExperimentOptions options = kept_in("across");
  interrupt_after(2, options);
  EXPECT_FALSE(std::filesystem::is_empty(options.folder));
  RunOnHost gpu;
  const ExperimentResult found = gpu.run(options);
  const std::atomic<bool> stop = false;
  const ExperimentResult whole = run_experiment(two_seeds(), kept_in("whole"), stop, {});
  ASSERT_EQ(found.rows.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const double loss = whole.rows[i].test.loss;
    EXPECT_EQ(found.rows[i].device, "cuda");
    EXPECT_NEAR(found.rows[i].test.loss, loss, 1e-5 * loss);
  }
}

TEST(Experiment, ARowWhoseLossIsNotFiniteIsNamedAndTheOthersAreMade) {
  std::vector<ExperimentRow> rows = two_seeds();
  for (auto& [name, value] : rows[0].described.training_options) {
    if (name == "learning_rate") value = "1e38";
  }
  ExperimentOptions options = kept_in("failed");
  const std::atomic<bool> stop = false;
  std::vector<std::string> failed;
  ExperimentEvents events;
  events.failed = [&](const std::string& row) { failed.push_back(row); };
  try {
    run_experiment(rows, options, stop, events);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const NumericalError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("adding-psf-flatten-13-seed1: training: "));
  }
  EXPECT_THAT(failed, testing::ElementsAre("adding-psf-flatten-13-seed1"));
  EXPECT_TRUE(std::filesystem::exists(options.folder + "/adding-psf-flatten-13-seed2.json"));
}

TEST(Experiment, APlanSaysWhereRowsAreTrained) {
  EXPECT_THAT(plan_text({7, 0, 200}, 9, "rows"),
              AllOf(HasSubstr("7 of 9 rows"), HasSubstr(" threads;")));
  EXPECT_THAT(plan_text({7, 7, 200}, 9, "folds"),
              AllOf(HasSubstr("7 of 9 folds"), HasSubstr(", on the GPU;")));
  EXPECT_THAT(plan_text({7, 3, 200}, 9, "rows"), HasSubstr(", 3 of them on the GPU;"));
}

}  // namespace
}  // namespace matapprox::app
