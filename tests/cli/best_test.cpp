#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

std::string example(const std::string& name) { return source_dir() + "/matrices/" + name; }

ProgramResult best_of(const std::string& matrix, Arguments more) {
  more.insert(more.begin(), {"best", matrix});
  return run_program(more);
}

/// Relative Frobenius error of a saved file, computed from all entries.
double error_of_saved(const std::string& saved, const std::string& matrix) {
  const Matrix A = dense_of(*load(matrix).matrix);
  return (dense_of(load_approximation(saved).approximation) - A).norm() / A.norm();
}

std::size_t longest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

TEST(CliBest, SavesTheNearestWithinTheBytesAsked) {
  const std::string matrix = example("gaussian_kernel.mtx");
  const std::string saved = temporary_dir() + "/best.h5";
  const ProgramResult result =
      best_of(matrix, {"--budget", "2%", "-o", saved, "--json", "-", "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json document = result.json();
  const Matrix A = dense_of(*load(matrix).matrix);
  const double budget = 0.02 * 8 * static_cast<double>(A.size());
  EXPECT_NEAR(document["budget_bytes"].get<double>(), budget, 1e-9 * budget);
  const json& row = document["result"];
  EXPECT_LE(row["stored_bytes"].get<double>(), budget);
  EXPECT_EQ(row["saved_to"], saved);
  EXPECT_NEAR(document["byte_share"].get<double>(),
              row["stored_bytes"].get<double>() / (8 * static_cast<double>(A.size())),
              test::rounding(4));
  EXPECT_TRUE(document["target_is_met"].is_null());
  EXPECT_NEAR(row["relative_error"].get<double>(), error_of_saved(saved, matrix), 1e-13);

  const json measured = run_program({"measure", saved, matrix, "--json", "-", "--quiet"}).json();
  EXPECT_EQ(measured["stated_error_frobenius"], row["error_frobenius"]);
  EXPECT_EQ(measured["results"][0]["error_frobenius"], row["error_frobenius"]);
  EXPECT_EQ(measured["results"][0]["stored_bytes"], row["stored_bytes"]);
}

TEST(CliBest, DocumentsEveryCandidate) {
  const json document =
      best_of(example("gaussian_kernel.mtx"), {"--budget", "2%", "--json", "-"}).json();
  ASSERT_GE(document["candidates"].size(), 3U);
  int chosen = 0;
  double least = 1;
  for (const json& candidate : document["candidates"]) {
    EXPECT_FALSE(candidate["verdict"].get<std::string>().empty());
    EXPECT_GE(candidate["seconds"].get<double>(), 0.0);
    chosen += candidate["chosen"].get<bool>() ? 1 : 0;
    if (candidate["relative_error"].is_number())
      least = std::min(least, candidate["relative_error"].get<double>());
  }
  EXPECT_EQ(chosen, 1);
  const json& winner = document["candidates"][document["chosen"].get<std::size_t>()];
  EXPECT_EQ(winner["verdict"], "chosen");
  EXPECT_EQ(winner["stored_bytes"], document["result"]["stored_bytes"]);
  EXPECT_EQ(winner["method"], document["result"]["method"]);
  EXPECT_LE(winner["relative_error"].get<double>(), 1.01 * least);
  EXPECT_EQ(document["options"]["budget"], "2%");
  EXPECT_FALSE(document["interrupted"].get<bool>());
}

TEST(CliBest, WithoutASizeTheTargetIsOnePercent) {
  const std::string matrix = example("mesh2d.mtx");
  const std::string saved = temporary_dir() + "/best.h5";
  const ProgramResult result = best_of(matrix, {"-o", saved});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("neither --budget nor --target-error is given: using --target-error 0.01"));
  EXPECT_THAT(result.out, HasSubstr("the fewest bytes with |A - B| <= 0.01 |A|_F"));
  EXPECT_THAT(result.out, HasSubstr("0.01 is met, by the exact error"));
  EXPECT_THAT(result.out, Not(HasSubstr("verdict")));
  EXPECT_LE(error_of_saved(saved, matrix), 0.01);
}

TEST(CliBest, CertifiesTheSpectralNorm) {
  const Arguments asked{"--target-error",
                        "0.05",
                        "--norm",
                        "spectral",
                        "--confidence",
                        "0.999",
                        "--methods",
                        "truncated_svd"};
  const std::string matrix = example("scene.png");
  const ProgramResult text = best_of(matrix, asked);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("certified |A - B|_2 <="));
  EXPECT_THAT(text.out, HasSubstr("confidence 99.9"));
  EXPECT_THAT(text.out, HasSubstr("0.05 is met, certified |A - B| <= 0.0"));
  Arguments as_json = asked;
  as_json.insert(as_json.end(), {"--json", "-"});
  const json document = best_of(matrix, as_json).json();
  EXPECT_TRUE(document["target_is_met"].get<bool>());
  const json& winner = document["candidates"][document["chosen"].get<std::size_t>()];
  EXPECT_LE(winner["certified_error"].get<double>(), 0.05);
  EXPECT_EQ(document["result"]["certificate"]["norm"], "spectral");
  for (const json& candidate : document["candidates"])
    EXPECT_EQ(candidate["method"], "truncated_svd");
}

TEST(CliBest, ExplainsInLinesThatFit) {
  for (const Arguments& asked :
       {Arguments{"--budget", "600"}, {"--budget", "3%"}, {"--target-error", "1e-3"}}) {
    Arguments more = asked;
    more.emplace_back("--explain");
    const ProgramResult result = best_of(example("scale_free.mtx"), more);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("verdict"));
    EXPECT_THAT(result.out, testing::Not(HasSubstr("predicted")));
    EXPECT_THAT(result.out, HasSubstr("chosen"));
    EXPECT_LE(longest_line(result.out), 100U) << result.out;
  }
}

TEST(CliBest, ATargetThatIsMissedHasACodeOfItsOwn) {
  const std::string saved = temporary_dir() + "/best.h5";
  const ProgramResult result = best_of(
      example("scene.png"),
      {"--methods", "truncated_svd", "--budget", "1%", "--target-error", "1e-6", "-o", saved});
  EXPECT_EQ(result.exit_code, 4) << result.out;
  EXPECT_THAT(result.err, HasSubstr("the target error 1e-06 was not reached"));
  EXPECT_THAT(result.out, HasSubstr("is missed"));
  EXPECT_TRUE(std::filesystem::exists(saved));
}

TEST(CliBest, AnInterruptKeepsTheBestSoFar) {
  const std::string saved = temporary_dir() + "/best.h5";
  const std::string mesh = mesh_file(24);
  RunningProgram running({"best",
                          mesh,
                          "--methods",
                          "chord",
                          "--effort",
                          "high",
                          "--budget",
                          "200000",
                          "-o",
                          saved,
                          "--json",
                          "-"});
  running.wait_until_it_worked(2.0);
  running.send(SIGINT);
  const ProgramResult stopped = running.wait();
  ASSERT_EQ(stopped.exit_code, 130) << stopped.err;
  EXPECT_TRUE(stopped.json()["interrupted"].get<bool>());
  EXPECT_TRUE(load_approximation(saved).record.interrupted);
  EXPECT_NEAR(
      stopped.json()["result"]["relative_error"].get<double>(), error_of_saved(saved, mesh), 1e-12);
}

TEST(CliBest, StopsAfterTheTimeGiven) {
  const ProgramResult result = best_of(mesh_file(24),
                                       {"--effort",
                                        "high",
                                        "--methods",
                                        "truncated_svd,chord",
                                        "--budget",
                                        "200000",
                                        "--max-seconds",
                                        "1",
                                        "--explain"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("stopped before all candidates were tried"));
  const ProgramResult none = best_of(mesh_file(8), {"--budget", "9%", "--max-seconds", "1e-9"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("no result within"));
  EXPECT_THAT(none.err, HasSubstr("1e-09 seconds"));
}

TEST(CliBest, WritesAPageAndItsImages) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string folder = temporary_dir();
  const Arguments command{"--budget",
                          "3%",
                          "--methods",
                          "hierarchical",
                          "--report",
                          folder + "/best.html",
                          "--plots",
                          folder + "/plots",
                          "--quiet"};
  const ProgramResult result = best_of(example("scene.png"), command);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string page = read_file(folder + "/best.html");
  EXPECT_THAT(page, HasSubstr("matapprox best "));
  EXPECT_THAT(page, HasSubstr("stored bits per entry"));
  for (const char* name : {"error_bytes", "expectation", "components", "partition", "residual"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/plots/" + name + ".png")) << name;
  EXPECT_EQ(std::system(("python3 " + source_dir() + "/tests/cli/check_page.py " + folder +
                         "/best.html >" + folder + "/complaints")
                            .c_str()),
            0)
      << read_file(folder + "/complaints");
  EXPECT_EQ(best_of(example("scene.png"), command).exit_code, 3);
}

TEST(CliBest, RefusesWhatIsWrongBeforeItReads) {
  const auto complaint = [&](Arguments more, int exit_code = 2) {
    const ProgramResult result = best_of("there_is_none.mtx", std::move(more));
    EXPECT_EQ(result.exit_code, exit_code) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  };
  EXPECT_THAT(complaint({"--target-error", "0"}), HasSubstr("--target-error 0 is outside 0..1"));
  EXPECT_THAT(complaint({"--target-error", "nan"}), HasSubstr("is outside 0..1"));
  EXPECT_THAT(complaint({"--target-error", "1e-17"}),
              HasSubstr("below the resolution of products in double"));
  EXPECT_THAT(complaint({"--confidence", "1"}), HasSubstr("--confidence 1 is outside 0..1"));
  EXPECT_THAT(complaint({"--methods", "hierarchic"}), HasSubstr("did you mean 'hierarchical'?"));
  EXPECT_THAT(complaint({"--norm", "nuclear"}), HasSubstr("frobenius, spectral"));
  EXPECT_THAT(complaint({"--effort", "fast"}), HasSubstr("default, high"));
  EXPECT_THAT(complaint({"--budget", "4MB float"}), HasSubstr("the precision of the values"));
  EXPECT_THAT(complaint({"--budget", "-3%"}), HasSubstr("budget '-3%'"));
  EXPECT_THAT(complaint({"--max-seconds", "0"}), HasSubstr("--max-seconds 0 is not positive"));
  EXPECT_THAT(complaint({"-o", "x.npy"}), HasSubstr("the output is an HDF5 file"));
  EXPECT_THAT(complaint({"-o", "-"}), HasSubstr("not to standard output"));
  EXPECT_THAT(complaint({}, 3), HasSubstr("no such file"));
  const ProgramResult tiny = best_of(example("mesh2d.mtx"), {"--budget", "3B"});
  EXPECT_EQ(tiny.exit_code, 2);
  EXPECT_THAT(tiny.err, HasSubstr("takes at least"));
  const std::string least = tiny.err.substr(tiny.err.find("at least ") + 9);
  const ProgramResult enough =
      best_of(example("mesh2d.mtx"), {"--budget", std::to_string(std::stoi(least)) + "B"});
  EXPECT_EQ(enough.exit_code, 0) << least << enough.err;
}

}  // namespace
}  // namespace matapprox::test
