#include "methods/hierarchical/peeling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"

namespace matapprox::blocks {

// ------------------------------------------------------------------------------------- Peeling

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

// ------------------------------------------------------------------------------- Peeled blocks

namespace {

/// Largest side of blocks that are computed as a whole, so that entries can be counted too.
constexpr Index kCountedSide = 64;

double squared_norm(const Matrix& X, const Matrix& Y) {
  return kernels::transpose_product(X, X).cwiseProduct(kernels::transpose_product(Y, Y)).sum();
}

}  // namespace

PeeledBlocks::PeeledBlocks(PeeledMatrix A, Index leaf) : A_(std::move(A)), leaf_(leaf) {
  for (const std::vector<PeeledBlock>& level : A_.levels()) {
    for (const PeeledBlock& block : level) blocks_[{block.row, block.column}] = &block;
  }
  for (const PeeledLeaf& each : A_.leaves()) leaves_[each.first] = &each;
  energy_ = energy_of(0, rows());
}

/// Energy of the diagonal block of the range.
double PeeledBlocks::energy_of(Index first, Index count) const {
  if (count < 2 * leaf_ || count < 2) return leaves_.at(first)->values.squaredNorm();
  const Index upper = (count + 1) / 2;
  const PeeledBlock& above = *blocks_.at({first, first + upper});
  double sum = energy_of(first, upper) + energy_of(first + upper, count - upper);
  sum += (symmetric() ? 2 : 1) * squared_norm(above.X, above.Y);
  if (!symmetric()) {
    const PeeledBlock& below = *blocks_.at({first + upper, first});
    sum += squared_norm(below.X, below.Y);
  }
  return sum;
}

PeeledBlocks::Factors PeeledBlocks::factors(Index row,
                                            Index rows,
                                            Index column,
                                            Index columns) const {
  Index first = 0;
  Index count = this->rows();
  for (;;) {
    const Index upper = (count + 1) / 2;
    const Index middle = first + upper;
    const bool is_low = row >= middle;
    if (is_low != (column >= middle)) {
      const bool mirrored = is_low && symmetric();
      const PeeledBlock& found =
          *blocks_.at(is_low && !mirrored ? std::pair(middle, first) : std::pair(first, middle));
      const Matrix& X = mirrored ? found.Y : found.X;
      const Matrix& Y = mirrored ? found.X : found.Y;
      return {X.middleRows(row - (is_low ? middle : first), rows),
              Y.middleRows(column - (is_low ? first : middle), columns)};
    }
    first = is_low ? middle : first;
    count = is_low ? count - upper : upper;
  }
}

/// Fills in the diagonal block of the range.
void PeeledBlocks::fill(Index first, Index count, Block values) const {
  if (count < 2 * leaf_ || count < 2) {
    values = leaves_.at(first)->values;
    return;
  }
  const Index upper = (count + 1) / 2;
  const Index lower = count - upper;
  fill(first, upper, values.topLeftCorner(upper, upper));
  fill(first + upper, lower, values.bottomRightCorner(lower, lower));
  const Factors above = factors(first, upper, first + upper, lower);
  values.topRightCorner(upper, lower).noalias() = above.X * above.Y.transpose();
  const Factors below = factors(first + upper, lower, first, upper);
  values.bottomLeftCorner(lower, upper).noalias() = below.X * below.Y.transpose();
}

/// Nodes that have entries on the diagonal are the diagonal blocks of ranges.
ConstBlock PeeledBlocks::block(const Node& node, Matrix& space) const {
  if (spans(node)) {
    space.resize(node.rows, node.columns);
    fill(node.row, node.rows, space);
    return space;
  }
  const Factors of = factors(node.row, node.rows, node.column, node.columns);
  space = kernels::product(kernels::Trans::kNo, of.X, kernels::Trans::kYes, of.Y);
  return space;
}

void PeeledBlocks::describe(Node& node, double least) const {
  node.described = true;
  if (spans(node) && node.rows >= 2 * leaf_) {
    node.energy = energy_of(node.row, node.rows);
    return;
  }
  if (node.larger_side() <= kCountedSide || spans(node)) {
    Matrix space;
    measure_entries(block(node, space), node, true);
    return;
  }
  find_spectrum(node, 0, least, {});
}

void PeeledBlocks::find_spectrum(Node& node,
                                 Index /*count*/,
                                 double /*least*/,
                                 const Judge& /*judge*/) const {
  if (node.complete) return;
  if (spans(node)) {
    if (node.rows >= 2 * leaf_) return;
    Matrix space;
    node.set_squares(squares_of(block(node, space), true));
    node.complete = true;
    return;
  }
  const Factors of = factors(node.row, node.rows, node.column, node.columns);
  const Matrix core =
      kernels::triangular_factor(of.X) * kernels::triangular_factor(of.Y).transpose();
  node.set_squares(kernels::singular_values(core).cwiseAbs2());
  node.complete = true;
  node.accurate = true;
  node.rest = 0;
  node.energy = node.tails.size() > 0 ? node.tails(0) : 0;
}

Triplets PeeledBlocks::triplets(const Node& node) const {
  Factors of = factors(node.row, node.rows, node.column, node.columns);
  Matrix left;
  Matrix right;
  const Matrix P = kernels::thin_qr(std::move(of.X), &left);
  const Matrix Q = kernels::thin_qr(std::move(of.Y), &right);
  const kernels::Svd core = kernels::svd(left * right.transpose());
  return {kernels::product(P, core.U), core.S, kernels::product(Q, core.V)};
}

// --------------------------------------------------------------------- Source of peeled blocks

namespace {

/// Matrices up to this order are stored and examined entry by entry.
constexpr Index kMaxHeldOrder = 8192;
/// Peeling is not used if a column costs less than this fraction of a product.
constexpr double kColumnShare = 0.5;
constexpr Index kPeelingProbes = 8;
/// Fraction of the tolerance that the error of peeling may take. Without a tolerance peeling
/// continues to rounding, up to the rank that fits into the bytes.
constexpr double kPeelingShare = 0.1;
constexpr double kPeelingRounding = 1e-13;
/// Least bytes of a value, and largest share of the bytes for a level, over an equal share.
constexpr double kMinPeeledBytes = 3.0 / 8;
constexpr double kLevelShare = 3;
constexpr Index kMinRank = 16;

/// |W|_F^2 per column; its expectation is |A|_F^2 for W = A times normal vectors.
double mean_square(const Matrix& W) { return W.squaredNorm() / static_cast<double>(W.cols()); }

/// A power of 2 that brings the entries to at most 1.
double scale_of(const PeeledMatrix& A) {
  double largest = 0;
  for (const PeeledLeaf& leaf : A.leaves()) {
    largest = std::max(largest, leaf.values.cwiseAbs().maxCoeff());
  }
  for (const auto& level : A.levels()) {
    for (const PeeledBlock& block : level) {
      const double bound =
          block.X.rowwise().norm().maxCoeff() * block.Y.rowwise().norm().maxCoeff();
      largest = std::max(largest, bound);
    }
  }
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

}  // namespace

bool is_worth_peeling(const LinearOperator& A) {
  const Cost cost = A.cost();
  return A.rows() == A.cols() && A.rows() > kMaxHeldOrder &&
         cost.multiplications_per_column >= kColumnShare * cost.multiplications_per_apply;
}

std::optional<PeeledSource> peeled_source(const LinearOperator& A,
                                          Index leaf,
                                          double tolerance,
                                          double bytes,
                                          std::uint64_t seed,
                                          const RunControl& control) {
  const Index n = A.rows();
  const Matrix probes = random_normal_matrix(seed, RandomStream::kCoSketch, n, kPeelingProbes);
  const Matrix image = A.apply(probes);
  require_finite(image, "hierarchical");
  const double part = tolerance > 0 ? kPeelingShare * tolerance : kPeelingRounding;
  PeelOptions options;
  options.leaf = leaf;
  options.symmetric = is_symmetric(A);
  options.least = part * part * mean_square(image);
  options.max_products = n / 2;
  options.seed = seed;
  const double levels =
      std::max(std::log2(static_cast<double>(n) / static_cast<double>(leaf)), 1.0);
  const double rank = kLevelShare * bytes / (kMinPeeledBytes * static_cast<double>(n) * levels);
  options.max_rank =
      tolerance > 0
          ? n
          : std::max(kMinRank, static_cast<Index>(std::min(rank, static_cast<double>(n))));
  std::optional<PeeledMatrix> peeled = PeeledMatrix::found(A, options, control);
  if (!peeled) return std::nullopt;
  PeeledSource source;
  source.scale = scale_of(*peeled);
  // These vectors had no part in the peeling.
  const Matrix rest = image - peeled->multiply(false, probes);
  source.missed = mean_square(rest * source.scale);
  peeled->scale(source.scale);
  source.blocks = std::make_unique<PeeledBlocks>(std::move(*peeled), leaf);
  return source;
}

}  // namespace matapprox::blocks
