#pragma once

#include <variant>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A matrix as a file holds it: every entry, or the nonzero ones in compressed rows.
using FileMatrix = std::variant<Matrix, SparseMatrix>;

}  // namespace matapprox
