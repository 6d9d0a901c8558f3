#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox::fuzz {

/// Aborts the program if a parser violates one of its guarantees.
inline void demand(bool condition) {
  if (!condition) std::abort();
}

/// Checks the guarantees of every reader for a matrix that it returns.
inline void demand_sound(const Matrix& A) {
  demand(A.rows() > 0 && A.cols() > 0);
  demand(A.allFinite());
}

inline void demand_sound(const SparseMatrix& A) {
  demand(A.rows() > 0 && A.cols() > 0 && A.isCompressed());
  const Index* const start = A.outerIndexPtr();
  demand(start[0] == 0 && start[A.rows()] == A.nonZeros());
  for (Index row = 0; row < A.rows(); ++row) {
    demand(start[row] <= start[row + 1]);
    for (Index k = start[row]; k < start[row + 1]; ++k) {
      demand(A.innerIndexPtr()[k] >= 0 && A.innerIndexPtr()[k] < A.cols());
      demand(k == start[row] || A.innerIndexPtr()[k - 1] < A.innerIndexPtr()[k]);
      demand(std::isfinite(A.valuePtr()[k]));
    }
  }
}

inline void demand_sound(const FileMatrix& matrix) {
  std::visit([](const auto& A) { demand_sound(A); }, matrix);
}

/// Runs a parser; one of our errors is a valid result, any other exception is a finding.
template <class Parse>
int run(const std::uint8_t* data, std::size_t size, const Parse& parse) {
  try {
    parse(std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
  return 0;
}

}  // namespace matapprox::fuzz
