#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/measure/measure.hpp"

namespace matapprox::report {

/// A Frobenius norm estimated from a sample, with its 95 % interval.
struct NormEstimate {
  double norm = 0;
  std::pair<double, double> interval{0, 0};
};

/// Estimates |D|_F of an operator with n columns and m rows, known by its products D W, from |D
/// w|^2 for options.probes random w.
NormEstimate estimate_norm(Index m,
                           Index n,
                           const MeasureOptions& options,
                           const std::function<Matrix(const Matrix&)>& product,
                           const std::function<void()>& between_blocks);

/// True for a matrix that computes its entries when they are asked for, a kernel matrix: some of
/// its columns cost much less than a product. Those of a stored one may lie anywhere in a file.
bool makes_entries(const LinearOperator& A);

/// Columns drawn at random, with replacement, ascending.
struct ColumnSample {
  std::vector<Index> columns;
  std::vector<double> probabilities;  ///< with which each of them is drawn in one draw
};

/// Draws `count` of the columns 0 .. n-1: with an empty `weights` each alike, else half of the
/// probability is uniform and half proportional to the weights (n of them, none negative).
/// Stratified: one draw from each of `count` equal shares of the probability.
ColumnSample draw_columns(Index n, Index count, std::uint64_t seed, const Vector& weights);

/// Estimates |D|_F from columns of D: the mean of |D(:, j)|^2 / p_j over the sample. `columns`
/// gives D(:, J) and may be called by several threads, about `width` columns at a time.
NormEstimate estimate_norm(const ColumnSample& sample,
                           const std::function<Matrix(std::span<const Index>)>& columns);

/// How many columns to draw, at `work` multiplications each, within `limit`: 64 .. 1024, at most n.
Index sample_size(Index n, double work, double limit);

}  // namespace matapprox::report
