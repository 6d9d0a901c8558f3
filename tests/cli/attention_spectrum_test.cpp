#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/attention.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(CliAttentionSpectrum, SpectrumOfAFileAndOfRandomMatrices) {
  const std::string matrix = temporary_dir() + "/a.csv";
  // Singular values 4 and 3; without the column means the rank is one.
  write_file(matrix, "4,0\n0,3\n");
  const json file = run_attention({"spectrum", matrix, "--ranks", "1,2", "--json", "-"}).json();
  ASSERT_EQ(file["spectra"].size(), 2U);
  const json& plain = file["spectra"][0];
  EXPECT_EQ(plain["centered"], false);
  EXPECT_NEAR(plain["shares"][0]["values"].get<double>(), 4.0 / 7, 1e-12);
  EXPECT_NEAR(plain["shares"][0]["squares"].get<double>(), 16.0 / 25, 1e-12);
  EXPECT_NEAR(plain["shares"][1]["values"].get<double>(), 1, 1e-12);
  EXPECT_NEAR(file["spectra"][1]["shares"][0]["squares"].get<double>(), 1, 1e-12);
  // Uniform in 0..1: the mean contributes 1/4 of 1/3, three quarters of the squares.
  const json random =
      run_attention({"spectrum", "--random", "uniform", "--order", "128", "--json", "-"}).json();
  EXPECT_NEAR(random["spectra"][0]["shares"][0]["squares"].get<double>(), 0.75, 0.02);
  EXPECT_EQ(random["spectra"][0]["singular_values"].size(), 128U);
  expect_refusal(run_attention({"spectrum"}), 2, "give a matrix file or --random");
  expect_refusal(run_attention({"spectrum", "--random", "unifrom"}), 2, "is not uniform");
  expect_refusal(run_attention({"spectrum", "--random", "normal", "--order", "9000"}), 2, "8192");
  expect_refusal(run_attention({"spectrum", matrix, "--ranks", "3"}), 2, "outside 1..2");
}

TEST(CliAttentionSpectrum, DrawsItsShares) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string folder = temporary_dir();
  const std::string matrix = folder + "/zero.csv";
  write_file(matrix, "0,0\n0,0\n");
  const std::string chart = folder + "/spectrum.svg";
  EXPECT_EQ(run_attention({"spectrum", "--random", "normal", "--order", "16", "--chart", chart})
                .exit_code,
            0);
  for (const char* part : {"sum of squares", "sum, columns centered", "largest singular values"})
    EXPECT_THAT(read_file(chart), HasSubstr(part));
  expect_refusal(run_attention({"spectrum", matrix, "--chart", chart}), 3, "--force");
  EXPECT_EQ(run_attention({"spectrum", matrix, "--chart", folder + "/zero.png"}).exit_code, 0);
  EXPECT_THAT(read_file(folder + "/zero.png"), testing::StartsWith("\x89PNG"));
  expect_refusal(run_attention({"spectrum", matrix, "--chart", folder + "/a.pdf"}),
                 2,
                 "the name must end with .svg or .png");
}

TEST(CliAttentionProjection, DrawsItsErrors) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  const std::string chart = temporary_dir() + "/projection.svg";
  EXPECT_EQ(run_attention({"projection", "--order", "32", "--ranks", "4,8,16", "--chart", chart})
                .exit_code,
            0);
  for (const char* part : {"what the lemma bounds", "delta = 0.1", "rows of R"})
    EXPECT_THAT(read_file(chart), HasSubstr(part));
}

TEST(CliAttentionProjection, PrintsErrorsAndDimensions) {
  const json found =
      run_attention(
          {"projection", "--order", "128", "--ranks", "8,32", "--deltas", "0.5", "--json", "-"})
          .json();
  ASSERT_EQ(found["errors"].size(), 2U);
  EXPECT_EQ(found["errors"][1]["k"], 32);
  EXPECT_LT(found["errors"][1]["pair"].get<double>(), found["errors"][0]["pair"].get<double>());
  EXPECT_EQ(found["errors"][0]["constructed"].size(), 1U);
  EXPECT_EQ(found["dimensions"][2]["linformer"], 195);  // 5 ln 128 / (1/4 - 1/8) = 194.1
  EXPECT_THAT(run_attention({"projection", "--order", "64"}).out, HasSubstr("d=5.42e-20"));
  EXPECT_THAT(run_program({"jl-dimension", "20", "--epsilon", "0.5"}).out,
              HasSubstr("144  preserves"));
  EXPECT_EQ(run_program({"jl-dimension", "512", "--json", "-"}).json()["linformer_dimension"],
            3466);
  expect_refusal(run_program({"jl-dimension", "20", "--epsilon", "1"}), 2, "epsilon 1 is outside");
}

TEST(CliAttentionSpectrum, SpectrumTakesNoOptionInVain) {
  const std::string matrix = temporary_dir() + "/zero.csv";
  write_file(matrix, "0,0\n0,0\n");
  for (const char* flag : {"--order", "--head-width"})
    expect_refusal(run_attention({"spectrum", matrix, flag, "8"}), 2, "is for --random");
  expect_refusal(run_attention({"spectrum", "--random", "normal", "--head-width", "8"}),
                 2,
                 "is for --random attention");
  expect_refusal(
      run_attention({"spectrum", "--random", "normal", "--as", "laplacian"}), 2, "apply to a file");
  const ProgramResult seeded = run_attention({"spectrum", matrix, "--seed", "3"});
  EXPECT_EQ(seeded.exit_code, 0);
  EXPECT_THAT(seeded.err, HasSubstr("--seed has no effect"));
  // A zero matrix has no shares.
  EXPECT_THAT(seeded.out, testing::Not(HasSubstr("1.0000")));
  const json zero = run_attention({"spectrum", matrix, "--json", "-"}).json();
  for (const json& share : zero["spectra"][0]["shares"]) {
    EXPECT_TRUE(share["values"].is_null());
    EXPECT_TRUE(share["squares"].is_null());
  }
}

}  // namespace
}  // namespace matapprox::test
