#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::reproduction {

constexpr Index kContactSheetPanels = 5;

/// Writes one gray PNG: A, truncated SVD, Chord, then the absolute residuals |A - B| of both on one
/// scale, white for 0 and black from the size that one in 200 of them reaches. Returns that size.
double write_contact_sheet(const std::string& path,
                           const LinearOperator& A,
                           const LinearOperator& tsvd,
                           const LinearOperator& chord);

/// One of the panels of a contact sheet, counted from 0.
Matrix contact_sheet_panel(const Matrix& contact_sheet, Index panel);

}  // namespace matapprox::reproduction
