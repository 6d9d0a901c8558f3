#pragma once

#include <array>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// Property of a matrix that its approximation should have too.
enum class KeptProperty {
  kNothing,
  kRowSums,    ///< B 1 = A 1; for a symmetric A the column sums as well
  kSymmetric,  ///< B = B^T
  kPsd,        ///< B symmetric positive semidefinite
};

template <>
struct EnumNames<KeptProperty> {
  static constexpr std::array<std::string_view, 4> values{
      "nothing", "row_sums", "symmetric", "psd"};
};

/// Returns B changed so that it has a property of A. If A has the property, the Frobenius error
/// cannot grow except by rounding: each change is the orthogonal projection onto a linear space or
/// a convex cone that contains A.
///
/// row_sums: B + (A1 - B1) 1^T / n. If A is symmetric, with S = (B + B^T)/2 and d = A1 - S1,
///   S + (d 1^T + 1 d^T)/n - (1^T d) 1 1^T / n^2,
/// the nearest matrix to B that is also symmetric and hence has the column sums as well. The
/// product must be able to hold one or two more terms: its first and last factors must be dense or
/// sparse, and those between dense, sparse or diagonal (truncated_svd, nystrom, cur). The term
/// stores m + n + 1 numbers, or 2 (n + 1) if the last factor is the transpose of the first. If A is
/// symmetric and the form of B is not, the result is marked symmetrized: a product with it costs
/// twice as much.
///
/// symmetric: (B + B^T)/2, for any square B; stores nothing more.
///
/// psd: (B + B^T)/2 if Lanczos' method finds no negative eigenvalue of it (smallest_eigenvalue; an
/// eigenvalue is negative if it is below -1e-12 times the largest); otherwise, for a low-rank B,
/// the same without its negative eigenvalues: U diag(l) U^T with l > 0. A product of factors cannot
/// represent a shift of the diagonal, so other forms are refused.
///
/// If B is stored in a lower precision, the result is rounded to it again, which changes the row
/// sums accordingly. The summary's message describes the change. Cost: a product each of A and B
/// with one vector; psd: up to 100 products of B, O(n k^2).
///
/// Throws InvalidArgument if shapes differ, for a B that cannot represent the change, and, for
/// symmetric and psd, if A is not symmetric.
Approximation keep(const LinearOperator& A, const Approximation& B, KeptProperty property);

/// Throws InvalidArgument, naming two entries of a matrix in memory, if the property is that of a
/// symmetric matrix and A is not symmetric. Nothing else is checked for psd.
void require_property(const LinearOperator& A, KeptProperty property);

}  // namespace matapprox
