#include "matapprox/operators/dense.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "operators/finite.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

constexpr Index kTile = 64;

Index tiles_of(Index n) { return (n + kTile - 1) / kTile; }

Cost dense_cost(Index numbers) {
  return {.stored_numbers = numbers,
          .stored_bytes = numbers * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = static_cast<double>(numbers),
          .multiplications_per_column = 0,
          .multiplications_for_diagonal = 0};
}

// Y is an output: a Ref passed by value, as in every function that fills a block.
// NOLINTBEGIN(performance-unnecessary-value-param)

KnownFacts facts_of(const EntryFacts& entries, const Symmetry& symmetry) {
  return {.symmetric = symmetry.symmetric,
          .nonzeros = entries.nonzeros,
          .frobenius_norm = entries.frobenius_norm,
          .averaged_asymmetry = symmetry.largest_difference,
          .largest_entry = entries.largest};
}

/// Y = A(:, J)
void copy_columns(const ConstBlock& A, std::span<const Index> J, Block Y) {
  parallel_for(static_cast<Index>(J.size()),
               [&](Index k) { Y.col(k) = A.col(J[static_cast<std::size_t>(k)]); });
}

/// Y = A(I, :)^T
void copy_rows(const ConstBlock& A, std::span<const Index> I, Block Y) {
  // Each tile of columns of A is read once, for any number of requested rows.
  parallel_for(tiles_of(A.cols()), [&](Index tile) {
    const Index end = std::min(A.cols(), (tile + 1) * kTile);
    for (Index k = 0; k < Y.cols(); ++k) {
      const Index row = I[static_cast<std::size_t>(k)];
      for (Index j = tile * kTile; j < end; ++j) Y(j, k) = A(row, j);
    }
  });
}

// NOLINTEND(performance-unnecessary-value-param)

}  // namespace

DenseOperator::DenseOperator(Matrix values, std::string description)
    : values_(std::move(values)), description_(std::move(description)) {
  facts_ = facts_of(entry_facts(values_, description_), rounding_symmetry(values_));
}

Cost DenseOperator::cost() const { return dense_cost(values_.size()); }

void DenseOperator::do_apply(const ConstBlock& X, Block Y) const {
  kernels::gemm(kernels::Trans::kNo, values_, kernels::Trans::kNo, X, Y);
}

void DenseOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  kernels::gemm(kernels::Trans::kYes, values_, kernels::Trans::kNo, X, Y);
}

void DenseOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  copy_columns(values_, J, Y);
}

void DenseOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  copy_rows(values_, I, Y);
}

DenseView::DenseView(const Entries& entries,
                     std::shared_ptr<const void> owner,
                     std::string description)
    : entries_(entries), owner_(std::move(owner)), description_(std::move(description)) {
  require(entries.rows >= 0 && entries.cols >= 0,
          "{}: {} x {} is not a valid matrix size",
          description_,
          entries.rows,
          entries.cols);
  const Index least = by_rows() ? entries.cols : entries.rows;
  require(entries.stride >= least,
          "{}: stride {} is below the {} entries of a {}",
          description_,
          entries.stride,
          least,
          by_rows() ? "row" : "column");
}

Cost DenseView::cost() const { return dense_cost(rows() * cols()); }

void DenseView::find_facts() const {
  std::call_once(facts_found_, [this] {
    const ConstBlock values = stored_as_given();
    facts_ = facts_of(by_rows() ? entry_facts_of_transpose(values, description_)
                                : entry_facts(values, description_),
                      rounding_symmetry(values));
  });
}

KnownFacts DenseView::known_facts() const {
  find_facts();
  return facts_;
}

ConstBlock DenseView::stored_as_given() const {
  using Stored = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
  const Index length = by_rows() ? cols() : rows();
  const Index count = by_rows() ? rows() : cols();
  return Stored(entries_.data, length, count, Eigen::OuterStride<>(entries_.stride));
}

ConstBlock DenseView::stored() const {
  find_facts();
  return stored_as_given();
}

Vector DenseView::diagonal() const { return stored().diagonal(); }

void DenseView::do_apply(const ConstBlock& X, Block Y) const {
  const auto trans = by_rows() ? kernels::Trans::kYes : kernels::Trans::kNo;
  kernels::gemm(trans, stored(), kernels::Trans::kNo, X, Y);
}

void DenseView::do_apply_transpose(const ConstBlock& X, Block Y) const {
  const auto trans = by_rows() ? kernels::Trans::kNo : kernels::Trans::kYes;
  kernels::gemm(trans, stored(), kernels::Trans::kNo, X, Y);
}

void DenseView::do_columns_at(std::span<const Index> J, Block Y) const {
  if (by_rows()) {
    copy_rows(stored(), J, Y);
  } else {
    copy_columns(stored(), J, Y);
  }
}

void DenseView::do_rows_at(std::span<const Index> I, Block Y) const {
  if (by_rows()) {
    copy_columns(stored(), I, Y);
  } else {
    copy_rows(stored(), I, Y);
  }
}

namespace {

/// Maps i in -1..n to 0..n-1 by reflection at the border, without repeating the border pixel.
Index mirrored(Index i, Index n) {
  if (n == 1) return 0;
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

struct Neighbors {
  double center, up, down, left, right;
};

template <class Formula>
Matrix for_each_pixel(const Matrix& image, Formula formula) {
  const Index m = image.rows();
  const Index n = image.cols();
  Matrix result(m, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      result(i, j) = formula(Neighbors{image(i, j),
                                       image(mirrored(i - 1, m), j),
                                       image(mirrored(i + 1, m), j),
                                       image(i, mirrored(j - 1, n)),
                                       image(i, mirrored(j + 1, n))});
    }
  }
  return result;
}

}  // namespace

Matrix gradient_magnitude(const Matrix& image) {
  return for_each_pixel(image, [](const Neighbors& p) {
    return std::hypot((p.right - p.left) / 2, (p.down - p.up) / 2);
  });
}

Matrix clipped_laplacian(const Matrix& image) {
  return for_each_pixel(image, [](const Neighbors& p) {
    return std::clamp(p.up + p.down + p.left + p.right - 4 * p.center, 0.0, 255.0);
  });
}

}  // namespace matapprox
