#include "matapprox/core/linear_operator.hpp"

#include <algorithm>

#include "core/large_pages.hpp"
#include "core/unit_columns.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

constexpr Index kPanelColumns = 64;

/// Number of random vectors that test symmetry. The largest of four products of a row is below 1e-3
/// of the row's norm about once in 1e12 rows.
constexpr Index kProbes = 4;

/// Uninitialized m x n block, on large pages if possible.
Matrix new_block(Index m, Index n) {
  Matrix Y(m, n);
  prefer_large_pages(Y.data(), static_cast<std::size_t>(Y.size()) * sizeof(double));
  return Y;
}

void require_indices(std::span<const Index> indices, Index bound, const char* what) {
  for (const Index index : indices) {
    require(index >= 0 && index < bound, "{}: index {} is outside 0..{}", what, index, bound - 1);
  }
}

void require_shape(const ConstBlock& Y, Index rows, Index cols, const char* what) {
  require(Y.rows() == rows && Y.cols() == cols,
          "{}: the result is {} x {}, but its block is {} x {}",
          what,
          rows,
          cols,
          Y.rows(),
          Y.cols());
}

void require_shape(
    const MultiVectorView& Y, Index rows, Index cols, const MemorySpace* space, const char* what) {
  require(Y.rows == rows && Y.cols == cols,
          "{}: the result is {} x {}, but its block is {} x {}",
          what,
          rows,
          cols,
          Y.rows,
          Y.cols);
  require(Y.space == space,
          "{}: the block for the result is not in the memory space of the operator",
          what);
}

/// True if every entry of |A X - A^T X| is at most 1e-12 of the largest product in its row. Rows
/// are compared separately: relative to a row with an entry of 1e16, the others would be rounding.
bool differ_by_rounding(const Matrix& forward, const Matrix& backward) {
  const Vector difference = (forward - backward).cwiseAbs().rowwise().maxCoeff();
  const Vector sizes = forward.cwiseAbs().cwiseMax(backward.cwiseAbs()).rowwise().maxCoeff();
  return (difference.array() <= 1e-12 * sizes.array()).all();
}

}  // namespace

// Y is an output: a Ref passed by value, as in every function that fills a block.
// NOLINTBEGIN(performance-unnecessary-value-param)

Matrix LinearOperator::apply(const ConstBlock& X) const {
  Matrix Y = new_block(rows(), X.cols());
  apply(X, Y);
  return Y;
}

Matrix LinearOperator::apply_transpose(const ConstBlock& X) const {
  Matrix Y = new_block(cols(), X.cols());
  apply_transpose(X, Y);
  return Y;
}

void LinearOperator::apply(const ConstBlock& X, Block Y) const {
  require(X.rows() == cols(),
          "apply: the block has {} rows, the operator {} columns",
          X.rows(),
          cols());
  require_shape(Y, rows(), X.cols(), "apply");
  if (Y.size() > 0) do_apply(X, Y);
}

void LinearOperator::apply_transpose(const ConstBlock& X, Block Y) const {
  require(X.rows() == rows(),
          "apply_transpose: the block has {} rows, the operator {} rows",
          X.rows(),
          rows());
  require_shape(Y, cols(), X.cols(), "apply_transpose");
  if (Y.size() > 0) do_apply_transpose(X, Y);
}

MultiVector LinearOperator::apply(const ConstMultiVectorView& X) const {
  MultiVector Y(memory_space(), rows(), X.cols);
  apply(X, Y.columns());
  return Y;
}

MultiVector LinearOperator::apply_transpose(const ConstMultiVectorView& X) const {
  MultiVector Y(memory_space(), cols(), X.cols);
  apply_transpose(X, Y.columns());
  return Y;
}

void LinearOperator::apply(const ConstMultiVectorView& X, const MultiVectorView& Y) const {
  require(
      X.rows == cols(), "apply: the block has {} rows, the operator {} columns", X.rows, cols());
  require(X.space == memory_space().get(),
          "apply: the block is not in the memory space of the operator");
  require_shape(Y, rows(), X.cols, memory_space().get(), "apply");
  if (Y.rows * Y.cols > 0) do_apply_in_place(false, X, Y);
}

void LinearOperator::apply_transpose(const ConstMultiVectorView& X,
                                     const MultiVectorView& Y) const {
  require(X.rows == rows(),
          "apply_transpose: the block has {} rows, the operator {} rows",
          X.rows,
          rows());
  require(X.space == memory_space().get(),
          "apply_transpose: the block is not in the memory space of the operator");
  require_shape(Y, cols(), X.cols, memory_space().get(), "apply_transpose");
  if (Y.rows * Y.cols > 0) do_apply_in_place(true, X, Y);
}

Matrix LinearOperator::columns_at(std::span<const Index> J) const {
  require_indices(J, cols(), "columns_at");
  Matrix Y = new_block(rows(), static_cast<Index>(J.size()));
  if (Y.size() > 0) do_columns_at(J, Y);
  return Y;
}

Matrix LinearOperator::rows_at(std::span<const Index> I) const {
  require_indices(I, rows(), "rows_at");
  Matrix Y = new_block(cols(), static_cast<Index>(I.size()));
  if (Y.size() > 0) do_rows_at(I, Y);
  return Y;
}

void LinearOperator::columns_at(std::span<const Index> J, Block Y) const {
  require_indices(J, cols(), "columns_at");
  require_shape(Y, rows(), static_cast<Index>(J.size()), "columns_at");
  if (Y.size() > 0) do_columns_at(J, Y);
}

void LinearOperator::rows_at(std::span<const Index> I, Block Y) const {
  require_indices(I, rows(), "rows_at");
  require_shape(Y, cols(), static_cast<Index>(I.size()), "rows_at");
  if (Y.size() > 0) do_rows_at(I, Y);
}

// NOLINTEND(performance-unnecessary-value-param)

Vector LinearOperator::diagonal() const {
  const Index n = std::min(rows(), cols());
  Vector result(n);
  for (Index first = 0; first < n; first += kPanelColumns) {
    const auto J = index_range(first, std::min(kPanelColumns, n - first));
    const Matrix panel = columns_at(J);
    for (std::size_t c = 0; c < J.size(); ++c) result(J[c]) = panel(J[c], static_cast<Index>(c));
  }
  return result;
}

void LinearOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  const auto count = static_cast<Index>(J.size());
  for (Index first = 0; first < count; first += kPanelColumns) {
    const Index width = std::min(kPanelColumns, count - first);
    do_apply(unit_columns(cols(), J.subspan(first, width)), Y.middleCols(first, width));
  }
}

void LinearOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  const auto count = static_cast<Index>(I.size());
  for (Index first = 0; first < count; first += kPanelColumns) {
    const Index width = std::min(kPanelColumns, count - first);
    do_apply_transpose(unit_columns(rows(), I.subspan(first, width)), Y.middleCols(first, width));
  }
}

void LinearOperator::do_apply_in_place(bool transposed,
                                       const ConstMultiVectorView& X,
                                       const MultiVectorView& Y) const {
  if (transposed) {
    do_apply_transpose(on_host(X), on_host(Y));
  } else {
    do_apply(on_host(X), on_host(Y));
  }
}

bool is_symmetric(const LinearOperator& A) {
  if (A.rows() != A.cols()) return false;
  if (A.rows() == 0) return true;
  if (const auto known = A.known_facts().symmetric) return *known;
  const Matrix X = random_normal_matrix(0x5eed, RandomStream::kFingerprint, A.cols(), kProbes);
  Matrix forward = A.apply(X);
  Matrix backward = A.apply_transpose(X);
  // A product that overflowed, or lost digits to underflow, proves nothing. Repeats it with a
  // scaled X.
  constexpr double kScale = 0x1p100;
  const bool overflows = !forward.allFinite() || !backward.allFinite();
  if (overflows || forward.cwiseAbs().maxCoeff() < 1 / (kScale * kScale * kScale)) {
    const Matrix scaled = X * (overflows ? 1 / kScale : kScale);
    forward = A.apply(scaled);
    backward = A.apply_transpose(scaled);
  }
  return differ_by_rounding(forward, backward);
}

std::vector<Index> index_range(Index first, Index count) {
  std::vector<Index> range(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) range[static_cast<std::size_t>(i)] = first + i;
  return range;
}

}  // namespace matapprox
