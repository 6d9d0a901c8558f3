#include "report/heat_map.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/io/matrix_files.hpp"
#include "matapprox/operators/dense.hpp"

namespace matapprox::report {
namespace {

using testing::HasSubstr;

Matrix numbered(Index rows, Index cols) {
  Matrix A(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) A(i, j) = static_cast<double>((7 * i + 3 * j) % 11) - 5;
  }
  return A;
}

TEST(HeatMap, SmallMatricesAreShownEntryByEntry) {
  const Matrix A = numbered(20, 30);
  const ImagePlan plan = image_plan(20, 30, false);
  EXPECT_EQ(plan.cells, Cells::kEntries);
  EXPECT_EQ(image_cells(DenseOperator(A), plan), A);
  EXPECT_EQ(cells_text(plan, false), "");
  const Matrix B = Matrix::Ones(20, 30);
  EXPECT_EQ(difference_cells(DenseOperator(A), DenseOperator(B), plan), A - B);
}

TEST(HeatMap, LargeMatricesAreBlockMeansOfAbsoluteValues) {
  const Matrix A = numbered(1100, 700);
  const ImagePlan plan = image_plan(1100, 700, false);
  EXPECT_EQ(plan.cells, Cells::kAbsoluteMeans);
  EXPECT_EQ(plan.block, 3);
  const Matrix cells = image_cells(DenseOperator(A), plan);
  ASSERT_EQ(cells.rows(), 367);
  ASSERT_EQ(cells.cols(), 234);
  EXPECT_NEAR(cells(0, 0), A.block(0, 0, 3, 3).cwiseAbs().mean(), 1e-14);
  EXPECT_NEAR(cells(366, 233), A.block(1098, 699, 2, 1).cwiseAbs().mean(), 1e-14);
  EXPECT_THAT(cells_text(plan, false), HasSubstr("mean absolute value of a block of 3 × 3"));
}

TEST(HeatMap, LargeImagesAreBlockMeans) {
  const Matrix A = numbered(600, 600);
  const ImagePlan plan = image_plan(600, 600, true);
  EXPECT_EQ(plan.cells, Cells::kMeans);
  EXPECT_NEAR(image_cells(DenseOperator(A), plan)(1, 2), A.block(2, 4, 2, 2).mean(), 1e-14);
  const Matrix zero = Matrix::Zero(600, 600);
  EXPECT_NEAR(difference_cells(DenseOperator(A), DenseOperator(zero), plan)(1, 2),
              A.block(2, 4, 2, 2).cwiseAbs().mean(),
              1e-14);
}

TEST(HeatMap, HugeMatricesAreSampled) {
  const ImagePlan plan = image_plan(20000, 20000, false);
  EXPECT_EQ(plan.cells, Cells::kSampled);
  EXPECT_EQ(plan.block, 40);
  EXPECT_THAT(cells_text(plan, true), HasSubstr("one entry out of a block of 40 × 40"));
}

TEST(HeatMap, ScaleIsSymmetricAndNotRuledByOneEntry) {
  Matrix A = numbered(100, 100);
  A(3, 3) = 1e6;
  const ColorScale scale = symmetric_scale({&A}, ColorMap::kDiverging);
  EXPECT_EQ(scale.high, 5);
  EXPECT_EQ(scale.low, -5);
  EXPECT_DOUBLE_EQ(clipped_share(A, scale), 1e-4);
  const Matrix zero = Matrix::Zero(3, 3);
  EXPECT_EQ(symmetric_scale({&zero}, ColorMap::kResidual).high, 1);
}

TEST(HeatMap, SoftScalesShowSmallEntriesBesideLargeOnes) {
  Matrix A = Matrix::Constant(100, 100, 1.0);
  A.leftCols(10).setConstant(50);
  for (const ColorMap map : {ColorMap::kDiverging, ColorMap::kRising}) {
    const ColorScale scale = symmetric_scale({&A}, map);
    EXPECT_EQ(scale.high, 50);
    EXPECT_EQ(scale.soft, 1);
    const double middle = map == ColorMap::kRising ? 0 : 0.5;
    EXPECT_DOUBLE_EQ(scale_position(scale, 0), middle);
    EXPECT_DOUBLE_EQ(scale_position(scale, 50), 1);
    EXPECT_GT(scale_position(scale, 1), middle + 0.05);
    for (const double value : {0.0, 0.5, 7.0, 50.0})
      EXPECT_NEAR(scale_value(scale, scale_position(scale, value)), value, 1e-12);
    EXPECT_EQ(scale_marks(scale).front().second, map == ColorMap::kRising ? "0" : "−50");
  }
}

TEST(HeatMap, PngHasOnePixelACell) {
  Matrix A(2, 3);
  A << 0, 51, 255, 300, -5, 102;
  const GrayImage image =
      parse_image(heat_map_png(A, gray_scale(Matrix::Constant(1, 1, 255))), "A");
  Matrix expected(2, 3);
  expected << 0, 51, 255, 255, 0, 102;
  EXPECT_EQ(image.values, expected);
}

/// The images in an SVG, as gray values.
std::vector<Matrix> embedded_images(const std::string& svg) {
  const std::string head = "data:image/png;base64,";
  const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<Matrix> images;
  for (auto at = svg.find(head); at != std::string::npos; at = svg.find(head, at)) {
    std::string bytes;
    unsigned bits = 0;
    int count = 0;
    for (at += head.size(); svg[at] != '\''; ++at) {
      const auto value = letters.find(svg[at]);
      if (value == std::string::npos) continue;
      bits = (bits << 6U) | static_cast<unsigned>(value);
      count += 6;
      if (count < 8) continue;
      count -= 8;
      bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xffU);
    }
    images.push_back(parse_image(bytes, "embedded").values);
  }
  return images;
}

TEST(HeatMap, ASheetHasEachImageInItsOwnColors) {
  const Matrix gray = numbered(4, 6).cwiseAbs() / 5;
  const Matrix rising = numbered(4, 6).cwiseAbs() * 1e-3;
  const Matrix signs = numbered(4, 6);
  const std::vector<std::vector<SheetImage>> rows{
      {{gray, {ColorMap::kGray, 0, 1}, "the image", "sample 7"},
       {rising, symmetric_scale({&rising}, ColorMap::kRising), "softmax"}},
      {{signs, symmetric_scale({&signs}, ColorMap::kDiverging), "", "", {"one", "t\"o", "", "é"}}}};
  const HeatMapFiles files = image_sheet_files(rows, "what it is");
  for (const char* text : {"what it is", "the image", "sample 7", "softmax", ">one<", "t'o", "é"})
    EXPECT_THAT(files.svg, HasSubstr(text));
  EXPECT_GT(parse_image(files.png, "sheet").values.cols(), 800);
  const std::vector<Matrix> images = embedded_images(files.svg);
  ASSERT_EQ(images.size(), 3U);
  // gnuplot interpolates palette colors itself: they differ from our PNG by up to two of 255
  // levels.
  const std::vector<const SheetImage*> shown{&rows[0][0], &rows[0][1], &rows[1][0]};
  for (std::size_t k = 0; k < 3; ++k) {
    const Matrix expected = parse_image(heat_map_png(shown[k]->cells, shown[k]->scale), "k").values;
    ASSERT_EQ(images[k].rows(), 4);
    ASSERT_EQ(images[k].cols(), 6);
    EXPECT_LT((images[k] - expected).cwiseAbs().maxCoeff(), 3) << k;
  }
}

TEST(HeatMap, FilesHaveATitleAndAColorBar) {
  const Matrix A = numbered(9, 9);
  const HeatMapFiles files =
      heat_map_files(A, symmetric_scale({&A}, ColorMap::kDiverging), "A's residual");
  EXPECT_THAT(files.svg, HasSubstr("A's residual"));
  EXPECT_EQ(parse_image(files.png, "heat map").values.cols(), 1280);
}

}  // namespace
}  // namespace matapprox::report
