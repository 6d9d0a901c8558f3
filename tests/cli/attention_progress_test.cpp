// Output of `attention train`: the chart of a run and the progress messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "matapprox/io/matrix_files.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
/// A run of forty steps with a validation every twenty steps.
Arguments short_run(const std::string& output, const Arguments& more = {}) {
  Arguments words{"attention",
                  "train",
                  "--task",
                  "adding",
                  "--length",
                  "16",
                  "--block",
                  "bare",
                  "--pool",
                  "flatten",
                  "--steps",
                  "40",
                  "-o",
                  output,
                  "--value-width",
                  "8",
                  "--evaluate-every",
                  "20",
                  "--evaluation-samples",
                  "50",
                  "--test-samples",
                  "50"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(CliAttentionProgress, TheChartIsAnImageWithItsThreeSeries) {
  const std::string folder = temporary_dir();
  for (const char* chart : {"/chart.svg", "/chart.png"}) {
    const ProgramResult made = run_program(
        short_run(folder + "/model.h5", {"--quiet", "--force", "--chart", folder + chart}));
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "");
  }
  const std::string svg = read_file(folder + "/chart.svg");
  EXPECT_EQ(svg.rfind("<?xml", 0), 0U);
  for (const char* text : {"<svg",
                           "</svg>",
                           "training loss",
                           "validation loss",
                           "validation error",
                           ">step<",
                           "loss, share of errors"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
  const std::string png = read_file(folder + "/chart.png");
  EXPECT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const GrayImage image = parse_image(png, "chart");
  EXPECT_GT(image.values.maxCoeff(), image.values.minCoeff());
}

TEST(CliAttentionProgress, AChartThatCannotBeDrawnIsSaidBeforeTheTraining) {
  const std::string folder = temporary_dir();
  const std::string chart = folder + "/chart.svg";
  const auto refused = [&](int code, const std::string& text) {
    const ProgramResult result = run_program(short_run(folder + "/model.h5", {"--chart", chart}));
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder + "/model.h5"));
  };
  const char* path = std::getenv("PATH");
  const std::string kept = path != nullptr ? path : "";
  setenv("PATH", "/nonexistent", 1);
  refused(5, "gnuplot-nox");
  setenv("PATH", kept.c_str(), 1);
  write_file(chart, "mine");
  refused(3, "--force");
  EXPECT_EQ(read_file(chart), "mine");
}

TEST(CliAttentionProgress, EachLookIsALineAndAFileGetsNoProgressLine) {
  const std::string folder = temporary_dir();
  const ProgramResult made = run_program(short_run(folder + "/model.h5"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string validation =
      "training loss [0-9.e-]+, validation loss [0-9.e-]+, error [0-9.]+ %\n";
  EXPECT_THAT(
      made.err,
      MatchesRegex("psf: [^\n]*\nstep     20: " + validation + "step     40: " + validation));
  EXPECT_EQ(run_program(short_run(folder + "/quiet.h5", {"--quiet"})).err, "");
}

/// Output of the program on a terminal of its own; empty if none can be created.
std::string on_a_terminal(const Arguments& words) {
  std::string command = "'" + program() + "'";
  for (const std::string& word : words) command += " '" + word + "'";
  const std::string typed = temporary_dir() + "/typescript";
  const std::string script =
      "script -qec \"" + command + "\" " + typed + " </dev/null >/dev/null 2>&1";
  return std::system(script.c_str()) == 0 ? read_file(typed) : "";
}

TEST(CliAttentionProgress, ATerminalShowsStepsASecondAndTheTimeLeft) {
  if (std::system("script -qec true /dev/null </dev/null >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "script of util-linux is not installed";
  const std::string folder = temporary_dir();
  const std::string shown = on_a_terminal(short_run(folder + "/model.h5"));
  EXPECT_THAT(shown,
              testing::ContainsRegex("step 1/40, loss [0-9.e-]+, [0-9.e+]+ steps/s, "
                                     "[0-9]+ (s|min [0-9]+ s) left"));
  // The progress line is erased before another line is written.
  EXPECT_THAT(shown, HasSubstr("\r\033[Kstep     20: training loss"));
  const std::string quiet = on_a_terminal(short_run(folder + "/quiet.h5", {"--quiet"}));
  EXPECT_THAT(quiet, HasSubstr("saved to"));
  EXPECT_THAT(quiet, Not(HasSubstr("steps/s")));
}

}  // namespace
}  // namespace matapprox::test
