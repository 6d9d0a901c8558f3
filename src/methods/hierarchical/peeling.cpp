#include "methods/hierarchical/peeling.hpp"

#include <algorithm>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/append_columns.hpp"
#include "methods/finite.hpp"

namespace matapprox::blocks {
namespace {

constexpr const char* kPeeling = "hierarchical";
/// Number of columns of the bases at first; each step doubles it, adding kMaxNewColumns at most.
constexpr Index kFirstBasis = 16;
constexpr Index kMaxNewColumns = 128;

/// Orthonormal columns that span the directions that S adds to the range of Q.
Matrix new_directions(const Matrix& Q, Matrix S) {
  const Index most = std::min(S.cols(), S.rows() - Q.cols());
  if (most <= 0) return Matrix::Zero(S.rows(), 0);
  if (Q.cols() > 0) {
    for (int twice = 0; twice < 2; ++twice) {
      S -= kernels::product(Q, kernels::transpose_product(Q, S));
    }
  }
  Matrix basis = kernels::thin_qr(Matrix(S.leftCols(most)));
  if (Q.cols() > 0) {
    basis -= kernels::product(Q, kernels::transpose_product(Q, basis));
    basis = kernels::thin_qr(std::move(basis));
  }
  return basis;
}

}  // namespace

Matrix PeeledMatrix::multiply(bool transposed, const ConstBlock& X) const {
  Matrix Y = Matrix::Zero(order_, X.cols());
  const auto add = [&](bool flipped, const PeeledBlock& b) {
    const Index from = flipped ? b.row : b.column;
    const Index to = flipped ? b.column : b.row;
    const Matrix& read = flipped ? b.X : b.Y;
    const Matrix& written = flipped ? b.Y : b.X;
    const Matrix core = kernels::transpose_product(read, X.middleRows(from, read.rows()));
    kernels::gemm(kernels::Trans::kNo,
                  written,
                  kernels::Trans::kNo,
                  core,
                  Y.middleRows(to, written.rows()),
                  1,
                  1);
  };
  for (const std::vector<PeeledBlock>& level : levels_) {
    parallel_for(static_cast<Index>(level.size()), [&](Index k) {
      const PeeledBlock& block = level[static_cast<std::size_t>(k)];
      add(transposed, block);
      if (symmetric_) add(!transposed, block);
    });
  }
  parallel_for(static_cast<Index>(leaves_.size()), [&](Index k) {
    const PeeledLeaf& leaf = leaves_[static_cast<std::size_t>(k)];
    const Index rows = leaf.values.rows();
    const auto x = X.middleRows(leaf.first, rows);
    auto y = Y.middleRows(leaf.first, rows);
    if (transposed) {
      y.noalias() += leaf.values.transpose() * x;
    } else {
      y.noalias() += leaf.values * x;
    }
  });
  return Y;
}

Matrix PeeledMatrix::remaining(const LinearOperator& A, bool transposed, const Matrix& X) {
  products_ += X.cols();
  Matrix Y = transposed ? A.apply_transpose(X) : A.apply(X);
  require_finite(Y, kPeeling);
  Y -= multiply(transposed, X);
  return Y;
}

/// Finds the blocks of a level above the diagonal, or those below. Returns false if that would take
/// too many products.
bool PeeledMatrix::find_blocks(const LinearOperator& A,
                               const std::vector<Halved>& ranges,
                               bool below,
                               double least,
                               const PeelOptions& options,
                               const RunControl& control,
                               std::vector<PeeledBlock>& blocks) {
  const std::size_t begin = blocks.size();
  for (const Halved& range : ranges) {
    const Index middle = range.first + range.upper;
    blocks.push_back(below ? PeeledBlock{middle, range.lower, range.first, range.upper, {}, {}}
                           : PeeledBlock{range.first, range.upper, middle, range.lower, {}, {}});
  }
  const auto count = static_cast<Index>(ranges.size());
  const auto at = [&](Index k) -> PeeledBlock& {
    return blocks[begin + static_cast<std::size_t>(k)];
  };
  Index highest = 0;  // largest rank of any block
  for (Index k = 0; k < count; ++k) {
    highest = std::max(highest, std::min(at(k).rows, at(k).columns));
  }
  for (Index width = kFirstBasis, known = 0;; known += width) {
    if (known > 0) width = std::min(known, kMaxNewColumns);
    width = std::min(width, highest - known);
    if (width <= 0) return true;
    if (products_ + 2 * width > options.max_products) return false;
    control.throw_if_stopped(kPeeling);
    const Matrix random = random_normal_matrix(
        options.seed + static_cast<std::uint64_t>(known), RandomStream::kSketch, order_, width);
    Matrix start = Matrix::Zero(order_, width);
    for (Index k = 0; k < count; ++k) {
      start.middleRows(at(k).column, at(k).columns) =
          random.middleRows(at(k).column, at(k).columns);
    }
    const Matrix sampled = remaining(A, false, start);
    std::vector<Matrix> bases(static_cast<std::size_t>(count));
    Matrix placed = Matrix::Zero(order_, width);
    parallel_for(count, [&](Index k) {
      Matrix& basis = bases[static_cast<std::size_t>(k)];
      basis = new_directions(at(k).X, sampled.middleRows(at(k).row, at(k).rows));
      placed.middleRows(at(k).row, at(k).rows).leftCols(basis.cols()) = basis;
    });
    const Matrix projected = remaining(A, true, placed);
    Vector left = Vector::Zero(count);
    parallel_for(count, [&](Index k) {
      const Matrix& basis = bases[static_cast<std::size_t>(k)];
      const Matrix added = projected.middleRows(at(k).column, at(k).columns).leftCols(basis.cols());
      // Assumes that as many more follow, all of the size of the last one.
      const auto unknown = static_cast<double>(std::min(width, highest - known - width));
      if (basis.cols() > 0 && unknown > 0) {
        left(k) = unknown * kernels::singular_values(added).cwiseAbs2().minCoeff();
      }
      append_columns(at(k).X, basis);
      append_columns(at(k).Y, added);
    });
    if (left.sum() * (symmetric_ ? 2 : 1) <= least || known + width >= options.max_rank)
      return true;
  }
}

/// Multiplies A by unit vectors, one of each range at the same time.
void PeeledMatrix::find_leaves(const LinearOperator& A,
                               const std::vector<std::pair<Index, Index>>& ranges) {
  Index widest = 0;
  for (const auto& [first, count] : ranges) widest = std::max(widest, count);
  Matrix units = Matrix::Zero(order_, widest);
  for (const auto& [first, count] : ranges) {
    units.middleRows(first, count).leftCols(count).setIdentity();
  }
  const Matrix left = remaining(A, false, units);
  for (const auto& [first, count] : ranges) {
    Matrix values = left.middleRows(first, count).leftCols(count);
    if (symmetric_) values = 0.5 * (values + values.transpose()).eval();
    leaves_.push_back({first, std::move(values)});
  }
}

std::optional<PeeledMatrix> PeeledMatrix::found(const LinearOperator& A,
                                                const PeelOptions& options,
                                                const RunControl& control) {
  PeeledMatrix result(A.rows(), options.symmetric);
  std::vector<std::pair<Index, Index>> ranges{{0, A.rows()}};
  std::vector<std::pair<Index, Index>> leaves;
  double levels = 1;
  for (Index n = A.rows(); n >= 2 * options.leaf; n = (n + 1) / 2) ++levels;
  const double least = options.least / levels / (options.symmetric ? 1 : 2);
  for (;;) {
    std::vector<Halved> halved;
    std::vector<std::pair<Index, Index>> next;
    for (const auto& [first, count] : ranges) {
      if (count < 2 * options.leaf || count < 2) {
        leaves.emplace_back(first, count);
        continue;
      }
      const Index upper = (count + 1) / 2;
      halved.push_back({first, upper, count - upper});
      next.emplace_back(first, upper);
      next.emplace_back(first + upper, count - upper);
    }
    if (halved.empty()) break;
    // A level is added when it is complete: remaining() subtracts only the levels above.
    std::vector<PeeledBlock> blocks;
    for (const bool below : {false, true}) {
      if (below && options.symmetric) continue;
      if (!result.find_blocks(A, halved, below, least, options, control, blocks)) {
        return std::nullopt;
      }
    }
    result.levels_.push_back(std::move(blocks));
    ranges = std::move(next);
  }
  std::sort(leaves.begin(), leaves.end());
  result.find_leaves(A, leaves);
  return result;
}

void PeeledMatrix::scale(double factor) {
  for (std::vector<PeeledBlock>& level : levels_) {
    for (PeeledBlock& block : level) block.Y *= factor;
  }
  for (PeeledLeaf& leaf : leaves_) leaf.values *= factor;
}

}  // namespace matapprox::blocks
