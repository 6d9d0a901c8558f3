#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "matapprox/io/matrix_files.hpp"
#include "support/attention.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const Arguments kEndsRun{
    "train", "--task",         "pathfinder", "--side",  "16", "--contour",
    "3",     "--distractors",  "1",          "--steps", "1",  "--batch",
    "1",     "--width",        "8",          "--heads", "1",  "--evaluation-samples",
    "1",     "--test-samples", "1",          "--quiet"};

std::string ends_model(const std::string& path, const Arguments& more) {
  const ProgramResult made = run_attention(kEndsRun + Arguments{"-o", path} + more);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return path;
}

Matrix dense_map(const std::string& model, Index sample) {
  const std::string path = model + std::to_string(sample) + ".npy";
  const ProgramResult made =
      run_attention({"map", model, "--sample", std::to_string(sample), "-o", path});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  return read_npy(path);
}

/// The mean of the rows of a dense 256 x 256 map that belong to the two pixels and the four
/// neighbors of each.
Vector dense_mean(const Matrix& E, const std::vector<Index>& marked) {
  Vector sum = Vector::Zero(256);
  double count = 0;
  for (Index i = 0; i < 256; ++i) {
    const bool near = std::any_of(marked.begin(), marked.end(), [i](Index m) {
      return std::abs(i / 16 - m / 16) + std::abs(i % 16 - m % 16) <= 1;
    });
    if (!near) continue;
    sum += E.row(i).transpose();
    ++count;
  }
  return sum / count;
}

TEST(CliAttentionRows, EndsAreAveragedAsTheDenseMapsSay) {
  const std::string folder = temporary_dir();
  const std::string softmax =
      ends_model(folder + "/softmax.h5", {"--attention", "softmax", "--positions", "learned"});
  const std::string psf = ends_model(
      folder + "/psf.h5", {"--attention", "psf", "--block", "bare", "--value-width", "4"});
  const ProgramResult made = run_attention({"rows",
                                            softmax,
                                            psf,
                                            "--sample",
                                            "1",
                                            "--samples",
                                            "2",
                                            "-o",
                                            folder + "/rows.npy",
                                            "--json",
                                            "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const json document = made.json();
  EXPECT_EQ(document["width"], 16);
  EXPECT_EQ(document["maps"][1]["mechanism"], "psf");
  const Matrix rows = read_npy(folder + "/rows.npy");
  ASSERT_EQ(rows.rows(), 2);
  ASSERT_EQ(rows.cols(), 256);
  for (Index m = 0; m < 2; ++m) {
    Vector expected = Vector::Zero(256);
    for (const Index k : {0, 1}) {
      const json& sample = document["samples"][static_cast<std::size_t>(k)];
      ASSERT_EQ(sample["sample"], 1 + k);
      const auto marked = sample["marked"].get<std::vector<Index>>();
      ASSERT_EQ(marked.size(), 2U);
      expected += dense_mean(dense_map(m == 0 ? softmax : psf, 1 + k), marked) / 2;
    }
    EXPECT_LT((rows.row(m).transpose() - expected).norm(), 1e-12 * expected.norm()) << m;
    const auto mean =
        document["maps"][static_cast<std::size_t>(m)]["mean"].get<std::vector<double>>();
    EXPECT_EQ(mean[77], rows(m, 77));
    double sum = 0;
    for (const json& sample : document["samples"]) {
      const json& map = sample["maps"][static_cast<std::size_t>(m)];
      ASSERT_EQ(map.size(), 256U);
      sum += map[77].get<double>();
      // The endpoints are the brightest pixels.
      const auto image = sample["image"].get<std::vector<double>>();
      ASSERT_EQ(image.size(), 256U);
      for (const json& end : sample["marked"])
        EXPECT_EQ(image[end.get<std::size_t>()], *std::max_element(image.begin(), image.end()));
    }
    EXPECT_NEAR(sum / 2, mean[77], 1e-12 * std::abs(sum));
  }
}

TEST(CliAttentionRows, ColumnsAreThoseOfTheDenseMap) {
  const std::string folder = temporary_dir();
  const std::string softmax =
      ends_model(folder + "/softmax.h5", {"--attention", "softmax", "--positions", "learned"});
  const std::string path = folder + "/columns.npy";
  const ProgramResult made =
      run_attention({"rows", softmax, "--columns", "--rows", "3,200", "-o", path, "--json", "-"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(made.json()["columns"]);
  EXPECT_THAT(made.err, HasSubstr("Attention to column 3, 200"));
  const Matrix E = dense_map(softmax, 0);
  const Vector expected = (E.col(3) + E.col(200)) / 2;
  const Matrix found = read_npy(path);
  ASSERT_EQ(found.cols(), 256);
  EXPECT_LT((found.row(0).transpose() - expected).norm(), 1e-12 * expected.norm());
  ASSERT_GT((E.row(3) + E.row(200) - 2 * expected.transpose()).norm(), 1e-3 * expected.norm());
}

/// Mechanism `mean` attends to all tokens equally in any model.
TEST(CliAttentionRows, AbsoluteValuesAreThoseOfEachSamplesMean) {
  const std::string folder = temporary_dir();
  const std::string psf = ends_model(
      folder + "/psf.h5", {"--attention", "psf", "--block", "bare", "--value-width", "4"});
  const auto rows = [&](const Arguments& more) {
    const std::string path = folder + "/rows.npy";
    const ProgramResult made =
        run_attention(Arguments{"rows", psf, "-o", path, "--force", "--json", "-"} + more);
    EXPECT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.json()["absolute"],
              std::find(more.begin(), more.end(), "--absolute") != more.end());
    return read_npy(path);
  };
  const Matrix first = rows({"--sample", "0"});
  const Matrix second = rows({"--sample", "1"});
  ASSERT_LT(first.minCoeff(), 0);
  const Matrix expected = (first.cwiseAbs() + second.cwiseAbs()) / 2;
  const Matrix found = rows({"--samples", "2", "--absolute"});
  EXPECT_LE((found - expected).cwiseAbs().maxCoeff(), 1e-12 * expected.maxCoeff());
}

TEST(CliAttentionRows, ImagesHaveTheSamplesTheMapsAndTheirMean) {
  const std::string folder = temporary_dir();
  const std::string model = ends_model(folder + "/mean.h5", {"--attention", "mean"});
  const ProgramResult numbers = run_attention({"rows", model, "-o", folder + "/one.npy"});
  ASSERT_EQ(numbers.exit_code, 0) << numbers.err;
  const Matrix one = read_npy(folder + "/one.npy");
  EXPECT_LT((one.array() - 1.0 / 256).abs().maxCoeff(), test::rounding(2 * 256) / 256);
  for (const char* name : {"/ends.svg", "/ends.png"}) {
    const ProgramResult drawn =
        run_attention({"rows", model, "--samples", "2", "-o", folder + name});
    ASSERT_EQ(drawn.exit_code, 0) << drawn.err;
    expect_refusal(run_attention({"rows", model, "-o", folder + name}), 3, "--force");
  }
  const std::string svg = read_file(folder + "/ends.svg");
  for (const char* text :
       {">image<", ">mean<", "sample 1", "mean of 2", "Attention of marked pixels"})
    EXPECT_THAT(svg, HasSubstr(text));
  // Two columns and three rows of 220 pixels, twice as large in the PNG.
  const GrayImage png = read_image(folder + "/ends.png");
  EXPECT_EQ(png.values.cols(), 2 * (30 + 2 * 232));
  EXPECT_EQ(png.values.rows(), 2 * (64 + 3 * 232));
}

TEST(CliAttentionRows, TokensOfATextAreWrittenOut) {
  const std::string folder = temporary_dir();
  const std::string model = folder + "/text.h5";
  const std::string tokens = tiny_token_file();
  ASSERT_EQ(run_attention({"train",
                           "--task",
                           "token_file",
                           "--path",
                           tokens,
                           "--attention",
                           "softmax",
                           "--width",
                           "8",
                           "--heads",
                           "2",
                           "--steps",
                           "1",
                           "--cls-token",
                           "--pool",
                           "cls",
                           "-o",
                           model,
                           "--quiet"})
                .exit_code,
            0);
  ASSERT_EQ(run_attention({"rows", model, "--rows", "0", "--head", "1", "-o", folder + "/t.svg"})
                .exit_code,
            0);
  EXPECT_THAT(read_file(folder + "/t.svg"), HasSubstr(">115<"));  // letter s
  // A row of the matrix without its first column, which belongs to the token in front.
  ASSERT_EQ(run_attention({"map", model, "--head", "1", "--rows", "0", "-o", folder + "/m.npy"})
                .exit_code,
            0);
  ASSERT_EQ(run_attention({"rows", model, "--rows", "0", "--head", "1", "-o", folder + "/r.npy"})
                .exit_code,
            0);
  const Matrix map = read_npy(folder + "/m.npy");
  const Matrix rows = read_npy(folder + "/r.npy");
  ASSERT_EQ(rows.cols() + 1, map.cols());
  EXPECT_LT((rows - map.rightCols(rows.cols())).norm(), 1e-12);
  expect_refusal(run_attention({"rows", model, "-o", folder + "/x.png"}), 2, "give --rows");
}

TEST(CliAttentionRows, SaysWhatItCannotDo) {
  const std::string folder = temporary_dir();
  const std::string model = ends_model(folder + "/mean.h5", {"--attention", "mean"});
  const std::string adding = folder + "/adding.h5";
  ASSERT_EQ(run_attention(kSmallRun + Arguments{"--steps", "1", "-o", adding}).exit_code, 0);
  const auto refused = [&](const Arguments& more, const char* why) {
    expect_refusal(run_attention(Arguments{"rows", model, "-o", "-"} + more), 2, why);
  };
  refused({adding}, "different tasks");
  refused({"--rows", "256"}, "outside 0..255");
  refused({"--rows", "1", "--radius", "2"}, "--radius has no effect on --rows");
  refused({"--summary", "--head", "0"}, "--head has no effect on --summary");
  refused({"--width", "7"}, "does not divide");
  refused({"--head", "1"}, "outside 0..0");
  refused({"--json", "-"}, "exclude each other");
  expect_refusal(run_attention({"rows", model, "-o", folder + "/x.txt"}), 2, ".npy, .mtx, .csv");
}

}  // namespace
}  // namespace matapprox::test
