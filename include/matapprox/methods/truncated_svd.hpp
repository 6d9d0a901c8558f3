#pragma once

#include <array>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class SvdAlgorithm { kAuto, kDense, kKrylov, kRandomized };

template <>
struct EnumNames<SvdAlgorithm> {
  static constexpr std::array<std::string_view, 4> values{"auto", "dense", "krylov", "randomized"};
};

struct TruncatedSvdOptions {
  Index rank = 0;                  ///< k, 1..min(m,n); 0: the largest that fits the budget
  StorageBudget budget;            ///< unset: default_budget
  double frobenius_tolerance = 0;  ///< if positive: the least k with |A - A_k|_F <= t |A|_F
  double spectral_tolerance = 0;   ///< if positive: the least k with sigma_{k+1} <= t sigma_1
  SvdAlgorithm algorithm = SvdAlgorithm::kAuto;
  bool symmetric_storage = false;  ///< symmetric A: store U and eigenvalues, half the numbers
  Index power_iterations = 2;      ///< q of the randomized algorithm: 2 (q + 1) passes over A
  Index block_size = 0;            ///< of the randomized algorithm; 0: chosen from the rank
  double tolerance = 1e-10;        ///< relative residual of the Krylov algorithm
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Truncated singular value decomposition A ~ U_k S_k V_k^T, the best approximation of rank k in
/// both norms [EY36].
///
/// U is m x k, S diagonal, V n x k: stores (m + n) k + k numbers (2Nk + k); a symmetric A with
/// symmetric_storage U L U^T, N k + k. Rectangular A welcome.
/// dense: LAPACK, O(m n min(m,n)) flops, min(m,n) <= 4096 and holds A. krylov: Spectra on
/// [0 A; A^T 0], keeps singular values far below sigma_1 that A^T A would lose. randomized: block
/// Krylov with q + 1 blocks [MM15], exactly 2 (q + 1) passes over A. auto: dense for small A, else
/// krylov for few singular values of a sparse matrix, else randomized.
/// Throws InvalidArgument (rank, tolerance, symmetric_storage for an A that is not symmetric),
/// BudgetTooSmall, NumericalError for NaN or Inf in A, Interrupted.
Approximation truncated_svd(const LinearOperator& A,
                            const TruncatedSvdOptions& options = {},
                            const RunControl& control = {});

}  // namespace matapprox
