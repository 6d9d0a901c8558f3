#include "matapprox/operators/dense.hpp"

#include <algorithm>

#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "operators/finite.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {

namespace {

constexpr Index kTile = 64;

Index tiles_of(Index n) { return (n + kTile - 1) / kTile; }

}  // namespace

DenseOperator::DenseOperator(Matrix values, std::string description)
    : values_(std::move(values)), description_(std::move(description)) {
  EntryFacts entries = entry_facts(values_, description_);
  const Symmetry symmetry = symmetrize_rounding(values_, entries.largest);
  if (symmetry.averaged > 0) entries = entry_facts(values_, description_);
  facts_.nonzeros = entries.nonzeros;
  facts_.frobenius_norm = entries.frobenius_norm;
  facts_.largest_entry = entries.largest;
  facts_.symmetric = symmetry.symmetric;
  facts_.averaged_asymmetry = symmetry.averaged;
}

Cost DenseOperator::cost() const {
  return {.stored_numbers = values_.size(),
          .stored_bytes = values_.size() * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = static_cast<double>(values_.size()),
          .multiplications_per_column = 0,
          .multiplications_for_diagonal = 0};
}

void DenseOperator::do_apply(const ConstBlock& X, Block Y) const {
  kernels::gemm(kernels::Trans::kNo, values_, kernels::Trans::kNo, X, Y);
}

void DenseOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  kernels::gemm(kernels::Trans::kYes, values_, kernels::Trans::kNo, X, Y);
}

void DenseOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  parallel_for(static_cast<Index>(J.size()),
               [&](Index k) { Y.col(k) = values_.col(J[static_cast<std::size_t>(k)]); });
}

void DenseOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  // By tiles of columns of A: each is read once, whatever the number of rows wanted.
  parallel_for(tiles_of(cols()), [&](Index tile) {
    const Index end = std::min(cols(), (tile + 1) * kTile);
    for (Index k = 0; k < Y.cols(); ++k) {
      const Index row = I[static_cast<std::size_t>(k)];
      for (Index j = tile * kTile; j < end; ++j) Y(j, k) = values_(row, j);
    }
  });
}

}  // namespace matapprox
