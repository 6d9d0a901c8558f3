#include "reproduce/contact_sheet.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "matapprox/io/image_file.hpp"

namespace matapprox::reproduction {
namespace {

constexpr Index kGap = 8;  // pixels of white between the panels

/// The size that all but one in 200 of the residuals stay below, so that a few dots do not make all
/// others white.
double dark_level(const Matrix& a, const Matrix& b) {
  std::vector<double> sizes(a.reshaped().begin(), a.reshaped().end());
  sizes.insert(sizes.end(), b.reshaped().begin(), b.reshaped().end());
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() * 199 / 200);
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

Matrix all_columns(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

}  // namespace

double write_contact_sheet(const std::string& path,
                           const LinearOperator& A,
                           const LinearOperator& tsvd,
                           const LinearOperator& chord) {
  const Matrix image = all_columns(A);
  const Matrix by_tsvd = all_columns(tsvd);
  const Matrix by_chord = all_columns(chord);
  const Matrix tsvd_residual = (image - by_tsvd).cwiseAbs();
  const Matrix chord_residual = (image - by_chord).cwiseAbs();
  const double scale = dark_level(tsvd_residual, chord_residual);
  const double to_gray = scale > 0 ? 255 / scale : 0;
  const std::array<Matrix, kContactSheetPanels> panels = {
      image,
      by_tsvd,
      by_chord,
      (255 - to_gray * tsvd_residual.array()).matrix(),
      (255 - to_gray * chord_residual.array()).matrix()};
  Matrix contact_sheet = Matrix::Constant(
      image.rows(), kContactSheetPanels * image.cols() + (kContactSheetPanels - 1) * kGap, 255);
  Index left = 0;
  for (const Matrix& panel : panels) {
    contact_sheet.middleCols(left, panel.cols()) = panel;
    left += panel.cols() + kGap;
  }
  write_png(path, contact_sheet);
  return scale;
}

Matrix contact_sheet_panel(const Matrix& contact_sheet, Index panel) {
  const Index width =
      (contact_sheet.cols() - (kContactSheetPanels - 1) * kGap) / kContactSheetPanels;
  return contact_sheet.middleCols(panel * (width + kGap), width);
}

}  // namespace matapprox::reproduction
