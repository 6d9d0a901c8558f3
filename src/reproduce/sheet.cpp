#include "reproduce/sheet.hpp"

#include <algorithm>
#include <array>

#include "matapprox/io/image_file.hpp"

namespace matapprox::reproduction {
namespace {

constexpr Index kGap = 8;  // pixels of white between the panels

Matrix all_columns(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

}  // namespace

double write_sheet(const std::string& path,
                   const LinearOperator& A,
                   const LinearOperator& tsvd,
                   const LinearOperator& chord) {
  const Matrix image = all_columns(A);
  const Matrix by_tsvd = all_columns(tsvd);
  const Matrix by_chord = all_columns(chord);
  const Matrix tsvd_residual = (image - by_tsvd).cwiseAbs();
  const Matrix chord_residual = (image - by_chord).cwiseAbs();
  const double scale = std::max(tsvd_residual.maxCoeff(), chord_residual.maxCoeff());
  const double to_grey = scale > 0 ? 255 / scale : 0;
  const std::array<Matrix, 5> panels = {image,
                                        by_tsvd,
                                        by_chord,
                                        (255 - to_grey * tsvd_residual.array()).matrix(),
                                        (255 - to_grey * chord_residual.array()).matrix()};
  const Index count = static_cast<Index>(panels.size());
  Matrix sheet = Matrix::Constant(image.rows(), count * image.cols() + (count - 1) * kGap, 255);
  Index left = 0;
  for (const Matrix& panel : panels) {
    sheet.middleCols(left, panel.cols()) = panel;
    left += panel.cols() + kGap;
  }
  write_png(path, sheet);
  return scale;
}

}  // namespace matapprox::reproduction
