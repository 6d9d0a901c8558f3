#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::attention {

/// Returns softmax(Q K^T / sqrt(p)) by rows, for Q and K of N x p: an N x N matrix whose rows sum
/// to 1.
Matrix softmax_map(const Matrix& Q, const Matrix& K);

/// Errors of softmax attention with random projections of keys and values.
struct ProjectedSoftmaxErrors {
  Index k = 0;
  double product = 0;  ///< |P R^T R V - P V|_F / |P V|_F
  /// Root mean square of (P R^T R V - P V)_ic / (|p_i| |v_c|) over rows p_i of P and columns v_c of
  /// V: the quantity bounded by the Johnson-Lindenstrauss lemma.
  double pair = 0;
  /// For each delta: |softmax(Q (E K)^T / sqrt(p)) F V - P V|_F / |P V|_F with E = delta R,
  /// F = e^-delta R, the construction in the proofs of [WLK+20, Thm. 2] and [Ver20].
  std::vector<double> constructed;
};

/// Computes the errors for P = softmax_map(Q, K) and R of k x N with independent entries N(0, 1/k).
/// Q, K and V are N x p. Cost: N^2 p + 2 N k p multiplications and N^2 numbers of memory. Throws
/// InvalidArgument unless the shapes agree, k >= 1 and all deltas are finite.
ProjectedSoftmaxErrors projected_softmax_errors(const Matrix& Q,
                                                const Matrix& K,
                                                const Matrix& V,
                                                Index k,
                                                std::span<const double> deltas,
                                                std::uint64_t seed);

}  // namespace matapprox::attention
