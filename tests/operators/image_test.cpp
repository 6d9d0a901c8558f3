#include <gtest/gtest.h>

#include <filesystem>

#include "matapprox/io/matrix_files.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"

namespace matapprox::test {
namespace {

TEST(GradientMagnitude, OfARampIsItsSlopeInside) {
  // I = 3 x + 4 y: gradient 5; at the border the mirrored image has no slope across the border.
  const Matrix image = Matrix::NullaryExpr(5, 6, [](Index i, Index j) {
    return 4.0 * static_cast<double>(i) + 3.0 * static_cast<double>(j);
  });
  const Matrix G = gradient_magnitude(image);
  EXPECT_SAME_BITS(G.block(1, 1, 3, 4), Matrix::Constant(3, 4, 5));
  EXPECT_SAME_BITS(G.block(0, 1, 1, 4), Matrix::Constant(1, 4, 3));
  EXPECT_SAME_BITS(G.block(1, 5, 3, 1), Matrix::Constant(3, 1, 4));
  EXPECT_EQ(G(4, 5), 0);
}

TEST(GradientMagnitude, OnePixelAndOneRow) {
  EXPECT_EQ(gradient_magnitude(Matrix::Constant(1, 1, 9))(0, 0), 0);
  Matrix row(1, 3);
  row << 0, 5, 8;
  Matrix expected(1, 3);
  expected << 0, 4, 0;
  EXPECT_SAME_BITS(gradient_magnitude(row), expected);
}

TEST(ClippedLaplacian, HandWorkedExample) {
  Matrix image(3, 3);
  image << 10, 20, 30,  //
      0, 5, 200,        //
      7, 7, 7;
  // Mirrored border: a corner counts both neighbors twice, an edge pixel the one opposite the edge.
  Matrix expected(3, 3);
  expected << 0, 0, 255,  //  20+20+0+0-40 = 0    10+30+5+5-80 < 0     20+20+200+200-120 = 320
      27, 207, 0,         //  10+7+5+5-0 = 27     20+7+0+200-20 = 207  30+7+5+5-800 < 0
      0, 0, 255;          //  0+0+7+7-28 < 0      5+5+7+7-28 < 0       200+200+7+7-28 = 386
  EXPECT_SAME_BITS(clipped_laplacian(image), expected);
}

TEST(ClippedLaplacian, OfAConstantImageIsZero) {
  EXPECT_EQ(clipped_laplacian(Matrix::Constant(4, 7, 13)).norm(), 0);
  EXPECT_EQ(clipped_laplacian(Matrix::Constant(1, 1, 13)).norm(), 0);
}

TEST(ClippedLaplacian, EqualsTheFormulaOnAnEnlargedImage) {
  const Matrix image = (random_matrix(9, 14) * 50).array() + 100;
  // Mirrors the border explicitly.
  Matrix large(11, 16);
  large.block(1, 1, 9, 14) = image;
  large.row(0) = large.row(2);
  large.row(10) = large.row(8);
  large.col(0) = large.col(2);
  large.col(15) = large.col(13);
  const Matrix sum = large.block(0, 1, 9, 14) + large.block(2, 1, 9, 14) +
                     large.block(1, 0, 9, 14) + large.block(1, 2, 9, 14) - 4 * image;
  EXPECT_CLOSE(clipped_laplacian(image), sum.cwiseMax(0).cwiseMin(255), 1e-14);
}

TEST(ClippedLaplacian, EqualsTheGradientImagesOfThePaper) {
  const std::filesystem::path matrices = shared_matrices();
  if (matrices.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  int compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(matrices / "gradient_image")) {
    const std::filesystem::path image = matrices / "image" / entry.path().filename();
    if (entry.path().extension() != ".png" || !std::filesystem::exists(image)) continue;
    EXPECT_SAME_BITS(clipped_laplacian(read_image(image.string()).values),
                     read_image(entry.path().string()).values)
        << image;
    ++compared;
  }
  EXPECT_GE(compared, 11);
}

}  // namespace
}  // namespace matapprox::test
