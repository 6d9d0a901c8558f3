#pragma once

#include <vector>

#include "methods/chord/forms.hpp"

namespace matapprox::chord_fit {

/// One factor of a chain with the products on both of its sides.
struct FactorPlace {
  ChordPattern pattern;  ///< pattern of this factor alone
  const double* values;
  Matrix left;              ///< L_m = W_1 ... W_{m-1}
  Matrix right;             ///< T_m^T, T_m = W_{m+1} ... W_M
  std::vector<Index> rows;  ///< row of each stored number
  std::vector<Index> columns;

  Index numbers() const { return static_cast<Index>(rows.size()); }
};

/// Computes the places of all factors of a chain: 2 M N^2 K flops each way, (2 M + 2) N^2 numbers.
std::vector<FactorPlace> places_of(const ChordPattern& pattern, const double* values);

/// Computes the lower triangle of result = J^T J, P x P, where J is the Jacobian of the residual Z
/// - X, Z = W_1...W_M or its symmetric part, with respect to the P stored numbers. The column of J
/// for entry (i, k) of factor m is the rank-one matrix L_m(:, i) T_m(j, :), with L_m =
/// W_1...W_{m-1}, T_m = W_{m+1}...W_M and j = (i + o_k) mod N, so each entry of J^T J is a product
/// of two entries of N x N Gram matrices: <l t^T, l' t'^T> = (l^T l') (t^T t'). For the symmetric
/// part, it is half of that plus half of <l t^T, t' l'^T> = (l^T t') (t^T l'). Cost: M^2 (2 N^3) +
/// P^2 flops (twice as many if symmetrized). Memory: P^2 + (2 M + 2) N^2 numbers. Uses all threads.
void gauss_newton_matrix(const Form& form, const double* values, Matrix& result);

}  // namespace matapprox::chord_fit
