#include "methods/exact/constant_diagonals.hpp"

#include <atomic>
#include <utility>
#include <vector>

#include "matapprox/core/memory.hpp"

namespace matapprox::exact_store {
namespace {

bool is_same(const double& a, const double& b) { return same_bits(&a, &b, 1); }

/// Number of rows after which the first two columns no longer belong to one Toeplitz (or Hankel)
/// block: the number of rows of a block if there are several.
Index rows_of_a_block(const Matrix& A, bool hankel) {
  Index i = 1;
  while (i < A.rows() && is_same(hankel ? A(i, 0) : A(i - 1, 0), hankel ? A(i - 1, 1) : A(i, 1)))
    ++i;
  return i;
}

/// The same for the columns, from the first two rows.
Index columns_of_a_block(const Matrix& A, bool hankel) {
  Index j = 1;
  while (j < A.cols() && is_same(hankel ? A(0, j) : A(0, j - 1), hankel ? A(1, j - 1) : A(1, j)))
    ++j;
  return j;
}

/// Fills the symbol from the entries that show each value first: those of the first block column
/// and block row (for Hankel levels the last block row), and in a block likewise.
Vector symbol_of(const Matrix& A, const ToeplitzLevel& outer, const ToeplitzLevel& inner) {
  const auto border = [](const ToeplitzLevel& level) {
    std::vector<std::pair<Index, Index>> entries;
    for (Index i = 0; i < level.rows; ++i) entries.emplace_back(i, 0);
    const Index row = level.form == ToeplitzForm::kHankel ? level.rows - 1 : 0;
    for (Index j = 1; j < level.cols; ++j) entries.emplace_back(row, j);
    return entries;
  };
  Vector symbol(outer.values() * inner.values());
  for (const auto& [i1, j1] : border(outer)) {
    for (const auto& [i2, j2] : border(inner)) {
      symbol(outer.value(i1, j1) * inner.values() + inner.value(i2, j2)) =
          A(i1 * inner.rows + i2, j1 * inner.cols + j2);
    }
  }
  return symbol;
}

/// True if the symbol represents A to the bit. The levels are not symmetric, so that a column of a
/// block is a contiguous piece of the symbol.
bool represents(const Vector& symbol,
                const ToeplitzLevel& outer,
                const ToeplitzLevel& inner,
                const Matrix& A) {
  std::atomic<bool> differs = false;
  parallel_for(A.cols(), [&](Index j) {
    for (Index i1 = 0; i1 < outer.rows && !differs.load(std::memory_order_relaxed); ++i1) {
      const Index block = outer.value(i1, j / inner.cols) * inner.values();
      const double* expected = symbol.data() + block + inner.value(0, j % inner.cols);
      if (!same_bits(A.col(j).data() + i1 * inner.rows, expected, inner.rows)) differs = true;
    }
  });
  return !differs;
}

/// Stores the values of a Toeplitz level once for both signs of i - j, if they are the same.
void fold_if_symmetric(ToeplitzMatrix::Content& content, std::size_t which) {
  ToeplitzLevel& level = content.levels[which];
  if (level.form != ToeplitzForm::kToeplitz || level.rows != level.cols || level.rows == 1) return;
  const Index n = level.rows;
  const Index outer = which == 0 ? 1 : content.levels[0].values();
  const Index inner = which == 0 ? content.levels[1].values() : 1;
  const Index values = level.values();
  const auto place = [&](Index a, Index d, Index b) { return (a * values + d) * inner + b; };
  for (Index a = 0; a < outer; ++a) {
    for (Index k = 1; k < n; ++k) {
      for (Index b = 0; b < inner; ++b) {
        if (!is_same(content.symbol(place(a, n - 1 - k, b)),
                     content.symbol(place(a, n - 1 + k, b))))
          return;
      }
    }
  }
  Vector folded(outer * n * inner);
  for (Index a = 0; a < outer; ++a) {
    folded.segment(a * n * inner, n * inner) =
        content.symbol.segment(place(a, n - 1, 0), n * inner);
  }
  content.symbol = std::move(folded);
  level.form = ToeplitzForm::kSymmetric;
}

/// Returns A in these forms of its levels if that loses no bit.
std::optional<ToeplitzMatrix> in_forms(const Matrix& A, ToeplitzForm outer, ToeplitzForm inner) {
  const bool hankel = inner == ToeplitzForm::kHankel;
  const Index rows = rows_of_a_block(A, hankel);
  const Index cols = columns_of_a_block(A, hankel);
  if (rows < 2 || cols < 2 || A.rows() % rows != 0 || A.cols() % cols != 0) return std::nullopt;
  ToeplitzMatrix::Content content;
  content.levels = {ToeplitzLevel{A.rows() / rows, A.cols() / cols, outer},
                    ToeplitzLevel{rows, cols, inner}};
  const auto& levels = content.levels;
  if (levels[0].values() * levels[1].values() >= A.size()) return std::nullopt;
  content.symbol = symbol_of(A, levels[0], levels[1]);
  if (!represents(content.symbol, levels[0], levels[1], A)) return std::nullopt;
  return with_symmetric_levels(std::move(content));
}

}  // namespace

ToeplitzMatrix with_symmetric_levels(ToeplitzMatrix::Content content) {
  fold_if_symmetric(content, 1);
  fold_if_symmetric(content, 0);
  return ToeplitzMatrix(std::move(content));
}

std::optional<ToeplitzMatrix> constant_diagonals(const Matrix& A) {
  std::optional<ToeplitzMatrix> best;
  if (A.rows() < 2 || A.cols() < 2) return best;
  for (const ToeplitzForm inner : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
    for (const ToeplitzForm outer : {ToeplitzForm::kToeplitz, ToeplitzForm::kHankel}) {
      std::optional<ToeplitzMatrix> found = in_forms(A, outer, inner);
      if (found && (!best || found->size() < best->size())) best = std::move(found);
    }
  }
  return best;
}

}  // namespace matapprox::exact_store
