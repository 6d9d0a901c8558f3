#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::reproduction {

constexpr Index kSheetPanels = 5;

/// Writes one grey PNG: A, truncated SVD, Chord, then the two residuals' sizes |A - B| on one
/// scale, white for 0 and black from the size on that one in 200 of both reach. Returns that size.
double write_sheet(const std::string& path,
                   const LinearOperator& A,
                   const LinearOperator& tsvd,
                   const LinearOperator& chord);

/// One of the panels of a sheet, counted from 0.
Matrix sheet_panel(const Matrix& sheet, Index panel);

}  // namespace matapprox::reproduction
