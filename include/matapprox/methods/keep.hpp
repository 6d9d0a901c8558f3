#pragma once

#include <array>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// A property of a matrix that its approximation is to have too.
enum class KeptProperty {
  kNothing,
  kRowSums,    ///< B 1 = A 1; of a symmetric A the column sums as well
  kSymmetric,  ///< B = B^T
  kPsd,        ///< B symmetric positive semidefinite
};

template <>
struct EnumNames<KeptProperty> {
  static constexpr std::array<std::string_view, 4> values{
      "nothing", "row_sums", "symmetric", "psd"};
};

/// B changed so that it has a property of A. For an A that has it the Frobenius error cannot grow,
/// but by rounding: each change is the orthogonal projection onto a linear space or a convex cone
/// that A lies in.
///
/// row_sums: B + (A1 - B1) 1^T / n. Where A is symmetric, with S = (B + B^T)/2 and d = A1 - S1,
///   S + (d 1^T + 1 d^T)/n - (1^T d) 1 1^T / n^2,
/// the nearest matrix to B that is symmetric too, so that it has the column sums as well. One more
/// term, or two, has to fit into the product: its first and last factors have to be dense or sparse
/// and those between dense, sparse or diagonal (truncated_svd, nystrom, cur). Stores m + n + 1
/// numbers more, 2 (n + 1) where the product is mirrored. Where A is symmetric and B not by its
/// form, the result is marked symmetrized: a product with it costs twice as much.
///
/// symmetric: (B + B^T)/2, for any square B; stores nothing more.
///
/// psd: (B + B^T)/2 if Lanczos' method finds no negative eigenvalue of that
/// (smallest_eigenvalue: a value below -1e-12 of the largest counts); else, for a B of low rank,
/// without its negative eigenvalues: U diag(l) U^T with l > 0. No product of factors holds a shift
/// of the diagonal, so other forms are refused.
///
/// Values that were rounded to float are rounded again, which moves row sums by that much. The
/// summary's message says what was done. Cost: a product each of A and B with one vector; psd: up
/// to 100 products of B, O(n k^2).
///
/// Throws InvalidArgument if shapes differ, for a B that cannot hold the change, and, for symmetric
/// and psd, if A is not symmetric.
Approximation keep(const LinearOperator& A, const Approximation& B, KeptProperty property);

/// Throws InvalidArgument, naming two entries of a matrix in memory, if the property is that of a
/// symmetric matrix and A is none. Of psd no more is looked at.
void require_property(const LinearOperator& A, KeptProperty property);

}  // namespace matapprox
