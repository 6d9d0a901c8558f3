#pragma once

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// result = J^T J, P x P, of the residual W_1...W_M - X with respect to the P stored numbers, the
/// lower triangle. The column of J for entry (i, k) of factor m is the rank-one matrix L_m(:, i)
/// T_m(j, :), with L_m = W_1...W_{m-1}, T_m = W_{m+1}...W_M and j = (i + o_k) mod N, so each entry
/// is a product of two entries of N x N Gram matrices. Cost M^2 (2 N^3) + P^2 flops, memory P^2 +
/// (2 M + 2) N^2 numbers. All threads.
void gauss_newton_matrix(const ChordPattern& pattern, const double* values, Matrix& result);

}  // namespace matapprox::chord_fit
