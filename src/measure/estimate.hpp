#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/measure/measure.hpp"

namespace matapprox::report {

// Frobenius norms that neither overflow nor underflow for entries near 1e+-150: entries are scaled
// by a power of two before squaring, which costs no accuracy.

/// |X|_F.
double panel_norm(const Matrix& X);
/// Square root of the sum of squares, added in the given order.
double combined_norm(std::span<const double> norms);

/// Throws NumericalError naming A, row and column (counted from 1) if `image`, some columns of A or
/// a product with A, contains NaN or Inf. The image shows the row; the column is found in that row
/// of A, because 0 * NaN = NaN: a product with a unit vector alone does not tell the column. An
/// overflow from finite entries is reported as such.
void refuse_nonfinite(const LinearOperator& A, const Matrix& image);

/// Number of columns per panel in all exact passes.
constexpr Index kPanelColumns = 64;

/// Frobenius norm estimated from a sample, with its 95 % interval.
struct NormEstimate {
  double norm = 0;
  std::pair<double, double> interval{0, 0};
};

/// Estimates |D|_F of an m x n operator from |D w|^2 for options.probes random w. `product` returns
/// D W.
NormEstimate estimate_norm(Index m,
                           Index n,
                           const MeasureOptions& options,
                           const std::function<Matrix(const Matrix&)>& product,
                           const std::function<void()>& between_blocks);

/// True if the matrix computes its entries on demand, as a kernel matrix does: some of its columns
/// cost much less than a product. Columns of a stored matrix may be anywhere in a file.
bool makes_entries(const LinearOperator& A);

/// Columns drawn at random with replacement, in ascending order.
struct ColumnSample {
  std::vector<Index> columns;
  std::vector<double> probabilities;  ///< probability of each column in one draw
};

/// Draws `count` of the columns 0 .. n-1. With empty `weights`, all columns are equally likely;
/// otherwise half of the probability is uniform and half proportional to the weights (n of them,
/// none negative). Stratified: draws one column from each of `count` equal shares of the
/// probability.
ColumnSample draw_columns(Index n, Index count, std::uint64_t seed, const Vector& weights);

/// Estimates |D|_F from columns of D: the mean of |D(:, j)|^2 / p_j over the sample. `columns`
/// returns D(:, J) and may be called by several threads, with up to kPanelColumns columns at a
/// time.
NormEstimate estimate_norm(const ColumnSample& sample,
                           const std::function<Matrix(std::span<const Index>)>& columns);

/// Number of columns to draw, at `work` multiplications each, within `limit`: 64 .. 1024, at most
/// n.
Index sample_size(Index n, double work, double limit);

}  // namespace matapprox::report
