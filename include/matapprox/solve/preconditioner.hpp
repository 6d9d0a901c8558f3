#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// Target of an approximation that is used as preconditioner: the inverse or the matrix.
enum class ApproximationOf { kInverse, kMatrix };

template <>
struct EnumNames<ApproximationOf> {
  static constexpr std::array<std::string_view, 2> values{"inverse", "matrix"};
};

/// Returns Jacobi's preconditioner of A + mu I: the diagonal matrix of 1 / (a_ii + mu), n numbers.
/// Throws InvalidArgument if A is not square or an a_ii + mu is 0, naming it (counted from 1).
std::shared_ptr<const LinearOperator> jacobi_preconditioner(const LinearOperator& A,
                                                            double shift = 0);

/// Returns a preconditioner M ~ A^-1 from an approximation B of the inverse of A. For a symmetric A
/// it is symmetric positive definite, as conjugate gradients require.
///
/// B of low rank, a product L ... R with L n x k and k < n, is singular, and no Krylov space that
/// starts in its range leaves it. With the k largest eigenpairs U diag(l) U^T of (B + B^T)/2
///   M = U diag(|l|) U^T + |l_k| (I - U U^T),
/// where l_k, the smallest of them by modulus, is the best known value for the part that B leaves
/// out. Eigenvalues below k eps |l_1| count as 0 and are omitted. Cost: O(n k^2) and a product of B
/// with 2 k columns. The result stores n k + k + 1 numbers; a product with it takes 2 n k
/// multiplications.
///
/// Any other B: M = B if A is not symmetric; else M is B, or (B + B^T)/2 if B is not symmetric,
/// plus 2 |v| I if the smallest eigenvalue v of this matrix is not positive. Cost: up to 100
/// products (smallest_eigenvalue).
///
/// Throws InvalidArgument if B is not square or zero, or if B is of low rank and A is not
/// symmetric.
std::shared_ptr<const LinearOperator> preconditioner_of_inverse(
    std::shared_ptr<const FactorProduct> B, bool symmetric);

/// Returns a preconditioner M ~ (A + mu I)^-1 from a low-rank approximation B of a symmetric A,
/// such as a truncated SVD or a Nystrom approximation: with the k largest eigenpairs U diag(l) U^T
/// of (B + B^T)/2, k the inner size of the product,
///   M = |l_k + mu| U diag(1 / |l + mu|) U^T + (I - U U^T),
/// the preconditioner of [FTU23] with absolute values, which make it positive definite for an
/// indefinite A too. Values l + mu below k eps max(|l_1|, |mu|) count as 0 and are omitted.
///
/// Cost and storage as above. Throws InvalidArgument if B is not square or not of low rank (such as
/// Chord, whose inverse is not cheap) or A is not symmetric; NumericalError if B + mu I is zero.
std::shared_ptr<const LinearOperator> preconditioner_of_matrix(const FactorProduct& B,
                                                               bool symmetric,
                                                               double shift = 0);

}  // namespace matapprox
