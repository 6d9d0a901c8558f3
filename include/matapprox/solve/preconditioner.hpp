#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox {

/// What an approximation that serves as preconditioner is an approximation of.
enum class ApproximationOf { kInverse, kMatrix };

template <>
struct EnumNames<ApproximationOf> {
  static constexpr std::array<std::string_view, 2> values{"inverse", "matrix"};
};

/// Jacobi's preconditioner of A + mu I: the diagonal matrix of 1 / (a_ii + mu), n numbers. Throws
/// InvalidArgument if A is not square or an a_ii + mu is 0, naming it (counted from 1).
std::shared_ptr<const LinearOperator> jacobi_preconditioner(const LinearOperator& A,
                                                            double shift = 0);

/// A preconditioner M ~ A^-1 from an approximation B of the inverse of A; for a symmetric A it is
/// symmetric positive definite, as conjugate gradients need it.
///
/// B of low rank, a product L ... R with L n x k and k < n, is singular, and no Krylov space that
/// starts in its range leaves it. With the k largest eigenpairs U diag(l) U^T of (B + B^T)/2
///   M = U diag(|l|) U^T + |l_k| (I - U U^T),
/// l_k the smallest of them by modulus, which is the best that is known of what B leaves out.
/// Eigenvalues below k eps |l_1| count as 0 and are left out. Cost: O(n k^2) and a product of B
/// with 2 k columns; the result stores n k + k + 1 numbers, 2 n k multiplications for a product.
///
/// Any other B: M = B if A is not symmetric; else B, or (B + B^T)/2 where B is not symmetric, and
/// if the smallest eigenvalue v of that is not positive, 2 |v| I on top. Cost: up to 100 products
/// (smallest_eigenvalue).
///
/// Throws InvalidArgument if B is not square or zero, and if it is of low rank where A is not
/// symmetric.
std::shared_ptr<const LinearOperator> preconditioner_of_inverse(
    std::shared_ptr<const FactorProduct> B, bool symmetric);

/// A preconditioner M ~ (A + mu I)^-1 from a low-rank approximation B of a symmetric A, such as a
/// truncated SVD or a Nystrom approximation: with the k largest eigenpairs U diag(l) U^T of
/// (B + B^T)/2, k the inner size of the product,
///   M = |l_k + mu| U diag(1 / |l + mu|) U^T + (I - U U^T),
/// the preconditioner of [FTU23] with absolute values, by which it is positive definite for an
/// indefinite A too. Values l + mu below k eps max(|l_1|, |mu|) count as 0 and are left out.
///
/// Cost and storage as above. Throws InvalidArgument if B is not square or not of low rank (Chord,
/// say: no inverse of it is cheap) or A is not symmetric; NumericalError where B + mu I is zero.
std::shared_ptr<const LinearOperator> preconditioner_of_matrix(const FactorProduct& B,
                                                               bool symmetric,
                                                               double shift = 0);

}  // namespace matapprox
