#include "kernels/sparse.hpp"

#include <algorithm>

#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::kernels {

namespace {

// Number of rows of a task, and of a row-major copy of results; of columns from which on rows of X
// are gathered rather than single numbers; and of columns at a time, at which a row of X is two
// cache lines.
constexpr Index kSparseRowChunk = 4096;
constexpr Index kResultRows = 64;
constexpr Index kPanelColumns = 3;
constexpr Index kPanelWidth = 16;
// Entries of X above which rows of only one cache line are stored row-major at a time: 512 MiB.
constexpr Index kPanelNumbers = Index{1} << 26;

template <class Function>
void over_rows(Index rows, const Function& function) {
  parallel_for((rows + kSparseRowChunk - 1) / kSparseRowChunk, [&](Index c) {
    function(c * kSparseRowChunk, std::min(rows, (c + 1) * kSparseRowChunk));
  });
}

/// Y = A X through a row-major copy of X: one gather per entry of A then serves all columns.
void apply_to_panel(
    const simd::CompressedRows& A, Index width, const ConstBlock& X, double* panel, Block Y) {
  over_rows(X.rows(), [&](Index first, Index last) {
    simd::chord_functions<double>().panel_from_columns(
        X.data() + first, X.outerStride(), last - first, X.cols(), width, panel + first * width);
  });
  over_rows(Y.rows(), [&](Index first, Index last) {
    thread_local Scratch result_scratch;
    double* results = result_scratch.reserve(kResultRows * width);
    for (Index i = first; i < last; i += kResultRows) {
      const Index end = std::min(last, i + kResultRows);
      simd::sparse_panel_rows(A, i, end, width, panel, results);
      simd::chord_functions<double>().columns_from_panel(
          results, width, end - i, Y.cols(), Y.data() + i, Y.outerStride());
    }
  });
}

}  // namespace

void sparse_apply(const SparseMatrix& A, const ConstBlock& X, Block Y) {
  require(A.cols() == X.rows() && A.rows() == Y.rows() && X.cols() == Y.cols(),
          "sparse product: {} x {} times {} x {} does not give {} x {}",
          A.rows(),
          A.cols(),
          X.rows(),
          X.cols(),
          Y.rows(),
          Y.cols());
  if (Y.size() == 0) return;
  if (!A.isCompressed()) {
    SparseMatrix compressed = A;
    compressed.makeCompressed();
    sparse_apply(compressed, X, Y);
    return;
  }
  const simd::CompressedRows rows{A.outerIndexPtr(), A.innerIndexPtr(), A.valuePtr()};
  const Index columns = X.cols();
  if (columns < kPanelColumns) {
    for (Index j = 0; j < columns; ++j) {
      over_rows(A.rows(), [&](Index first, Index last) {
        simd::sparse_vector_rows(rows, first, last, X.col(j).data(), Y.col(j).data());
      });
    }
    return;
  }
  const Index bounded = A.cols() * kPanelWidth <= kPanelNumbers ? kPanelWidth : kPanelWidth / 2;
  const Index most = std::min(bounded, (columns + 3) / 4 * 4);
  thread_local Scratch scratch;
  const ScratchBuffer memory(scratch, A.cols() * most);
  for (Index j = 0; j < columns; j += most) {
    const Index count = std::min(most, columns - j);
    const Index width = (count + 3) / 4 * 4;
    apply_to_panel(rows, width, X.middleCols(j, count), memory.data(), Y.middleCols(j, count));
  }
}

void gather_rows(const SparseMatrix& A, std::span<const Index> chosen, Block Y) {
  parallel_for(static_cast<Index>(chosen.size()), [&](Index k) {
    Y.col(k).setZero();
    for (SparseMatrix::InnerIterator entry(A, chosen[static_cast<std::size_t>(k)]); entry;
         ++entry) {
      Y(entry.col(), k) = entry.value();
    }
  });
}

}  // namespace matapprox::kernels
