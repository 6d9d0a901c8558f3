#pragma once

#include "methods/chord/forms.hpp"

namespace matapprox::chord_fit {

/// result = J^T J, P x P, of the residual Z - X, Z = W_1...W_M or its symmetric part, with respect
/// to the P stored numbers, the lower triangle. The column of J for entry (i, k) of factor m is the
/// rank-one matrix L_m(:, i) T_m(j, :), with L_m = W_1...W_{m-1}, T_m = W_{m+1}...W_M and j = (i +
/// o_k) mod N, so each entry is a product of two entries of N x N Gram matrices: <l t^T, l' t'^T> =
/// (l^T l') (t^T t'). Of the symmetric part, half of that and half of <l t^T, t' l'^T> = (l^T t')
/// (t^T l'). Cost M^2 (2 N^3) + P^2 flops (twice as many if symmetrized), memory P^2 + (2 M + 2)
/// N^2 numbers. All threads.
void gauss_newton_matrix(const Form& form, const double* values, Matrix& result);

}  // namespace matapprox::chord_fit
