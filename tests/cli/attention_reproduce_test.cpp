#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/attention.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

/// A few steps on short sequences.
Arguments small_figure(const std::string& folder, const Arguments& more = {}) {
  Arguments arguments{"reproduce",
                      "figure5",
                      "-o",
                      folder,
                      "--lengths",
                      "16",
                      "--seeds",
                      "1,2",
                      "--steps",
                      "6",
                      "--test-samples",
                      "200",
                      "--tasks",
                      "adding",
                      "--heads",
                      "cls",
                      "--models",
                      "psf,tokenwise"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Removes the times from the rows.
json numbers_of(json rows) {
  for (json& row : rows) row.erase("seconds");
  return rows;
}

TEST(CliReproduceFigure5, KeepsRowsAndResumesWithTheSameBits) {
  const std::string whole = temporary_dir() + "/whole";
  const json first = run_program(small_figure(whole, {"--json", "-"})).json();
  ASSERT_EQ(first["rows"].size(), 4U);
  for (const json& row : first["rows"]) {
    EXPECT_GT(row["error"].get<double>(), 0.5);
    EXPECT_EQ(row["samples"], 200);
    EXPECT_FALSE(row["baselines"].empty());
  }
  // The model of a cached row can be used like any other.
  EXPECT_THAT(run_program({"info", whole + "/adding-psf-cls-16-seed2.h5"}).out, HasSubstr("psf"));
  const ProgramResult again = run_program(small_figure(whole));
  EXPECT_THAT(again.err, HasSubstr("0 of 4 rows are to be trained"));
  EXPECT_THAT(again.out,
              AllOf(HasSubstr("the head reads the first token"),
                    HasSubstr("tokenwise"),
                    HasSubstr("without mixing tokens: ")));
  // Only the missing row is trained again. One thread gives the same numbers.
  std::filesystem::remove(whole + "/adding-psf-cls-16-seed1.json");
  const ProgramResult remade = run_program(small_figure(whole, {"--json", "-", "--threads", "1"}));
  EXPECT_THAT(remade.err, HasSubstr("1 of 4 rows are to be trained"));
  EXPECT_EQ(numbers_of(remade.json()["rows"]), numbers_of(first["rows"]));
}

TEST(CliReproduceFigure5, AnInterruptedRowResumesToTheSameBits) {
  const std::string whole = temporary_dir() + "/uncut";
  const std::string cut = temporary_dir() + "/cut";
  const auto row = [](const std::string& folder) {
    return Arguments{"reproduce",
                     "figure5",
                     "-o",
                     folder,
                     "--lengths",
                     "32",
                     "--seeds",
                     "1",
                     "--steps",
                     kSanitized ? "300" : "600",
                     "--test-samples",
                     "100",
                     "--tasks",
                     "temporal_order",
                     "--heads",
                     "flatten",
                     "--models",
                     "performer",
                     "--json",
                     "-"};
  };
  const json expected = numbers_of(run_program(row(whole)).json()["rows"]);
  RunningProgram running(row(cut), {});
  // The first checkpoint follows the validation after 250 steps.
  const std::string checkpoint = cut + "/temporal_order-performer-flatten-32-seed1.unfinished.h5";
  while (!std::filesystem::exists(checkpoint))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  EXPECT_EQ(stopped.exit_code, 130);
  EXPECT_TRUE(std::filesystem::exists(checkpoint));
  EXPECT_THAT(stopped.err, HasSubstr("the same command continues from there"));
  EXPECT_EQ(numbers_of(run_program(row(cut)).json()["rows"]), expected);
  EXPECT_FALSE(std::filesystem::exists(checkpoint));
}

TEST(CliReproduceFigure5, RefusesWhatThereIsNot) {
  const std::string folder = temporary_dir() + "/none";
  expect_refusal(run_program({"reproduce", "figure5", "-o", folder, "--models", "linfromer"}),
                 2,
                 "did you mean 'linformer'");
  expect_refusal(run_program({"reproduce", "figure5", "-o", folder, "--heads", "mean"}),
                 2,
                 "there are flatten, cls");
  expect_refusal(
      run_program({"reproduce", "figure5", "-o", folder, "--lengths", "0"}), 2, "length");
  expect_refusal(run_program({"reproduce", "--quiet", "figure5"}), 2, "reproduce figure5");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace matapprox::test
