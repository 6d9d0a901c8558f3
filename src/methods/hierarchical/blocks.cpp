#include "methods/hierarchical/blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/dense_matrix.hpp"

namespace matapprox::blocks {

// ------------------------------------------------------------------------------------- Sources

namespace {

/// Accuracy of squared singular values from a Gram matrix, relative to the largest one.
constexpr double kGramAccuracy = 1e-13;
/// Least number of columns of a Gram matrix that are computed at a time, down to the diagonal.
constexpr Index kGramBlock = 32;
/// If more than 1 / kMaxPartFound of the squares are needed, all are computed at once.
constexpr Index kMaxPartFound = 2;

/// Computes B B^T or B^T B, whichever is smaller: blocks on and above the diagonal by products,
/// their mirror images by copying.
Matrix gram_matrix(const ConstBlock& B) {
  const bool of_rows = B.rows() <= B.cols();
  const Index n = std::min(B.rows(), B.cols());
  Matrix G(n, n);
  const Index width = std::max<Index>(kGramBlock, (n + 3) / 4);
  for (Index first = 0; first < n; first += width) {
    const Index count = std::min(width, n - first);
    const Index end = first + count;
    if (of_rows) {
      kernels::gemm(kernels::Trans::kNo,
                    B.topRows(end),
                    kernels::Trans::kYes,
                    B.middleRows(first, count),
                    G.block(0, first, end, count));
    } else {
      kernels::gemm(kernels::Trans::kYes,
                    B.leftCols(end),
                    kernels::Trans::kNo,
                    B.middleCols(first, count),
                    G.block(0, first, end, count));
    }
    G.block(first, 0, count, first) = G.block(0, first, first, count).transpose();
  }
  return G;
}

/// Squared singular values from a Gram matrix.
Vector gram_squares(const Matrix& G) {
  return kernels::symmetric_eigenvalues(G).reverse().cwiseMax(0.0);
}

/// Bin of a square, from its exponent; the smallest numbers are in the last bin anyway.
int bin_of(double square, int top) {
  if (square <= 0) return -1;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(square) >> 52U) - 1023;
  return std::clamp(top - exponent - 1, 0, EntrySizes::kBins - 1);
}

}  // namespace

void EntrySizes::add(const EntrySizes& other, double times) {
  top = other.top;
  for (std::size_t k = 0; k < kBins; ++k) {
    counts[k] += other.counts[k];
    energies[k] += times * other.energies[k];
  }
}

void Node::set_squares(Vector found) {
  squares = std::move(found);
  tails = squares;
  for (Index k = tails.size() - 1; k-- > 0;) tails(k) += tails(k + 1);
}

void Node::raise_square_bounds(const Vector& bounds) {
  const Index known = square_bounds.size();
  if (known < bounds.size()) {
    square_bounds.conservativeResize(bounds.size());
    square_bounds.tail(bounds.size() - known).setZero();
  }
  auto leading = square_bounds.head(bounds.size());
  leading = leading.cwiseMax(bounds);
}

Vector squares_of(const ConstBlock& B, bool accurate) {
  return accurate ? Vector(kernels::singular_values(Matrix(B)).cwiseAbs2())
                  : gram_squares(gram_matrix(B));
}

/// Computes a partial pivoted Cholesky factorization L L^T of the Gram matrix: the squares of L are
/// those of B, up to the remaining diagonal, whose sum is the sum of all other squares.
LeadingSquares squares_down_to(const ConstBlock& B, double least) {
  const Matrix G = gram_matrix(B);
  const Index most = G.rows() / kMaxPartFound;
  const double negligible = kSearchedRest * least;
  Vector left = G.diagonal();
  if (negligible <= kGramAccuracy * left.sum()) return {gram_squares(G), 0, true};
  Matrix L(G.rows(), most);
  for (Index rank = 0;; ++rank) {
    const double rest = left.sum();
    if (rest <= negligible) {
      const auto found = L.leftCols(rank);
      return {rank == 0 ? Vector() : gram_squares(found.transpose() * found), rest};
    }
    if (rank == most) return {gram_squares(G), 0, true};
    Index pivot = 0;
    const double square = left.maxCoeff(&pivot);
    auto column = L.col(rank);
    column = G.col(pivot);
    for (Index k = 0; k < rank; ++k) column -= L(pivot, k) * L.col(k);
    column /= std::sqrt(square);
    left = (left - column.cwiseAbs2()).cwiseMax(0.0);
    left(pivot) = 0;
  }
}

bool below_gram_accuracy(const Vector& squares, double least) {
  return squares.size() > 0 && least < kGramAccuracy * squares(0);
}

void measure_entries(const ConstBlock& B, Node& node, bool with_sizes, int top) {
  node.energy = 0;
  double largest = 0;
  if (with_sizes) {
    node.sizes = std::make_unique<EntrySizes>();
    node.sizes->top = top;
  }
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < B.rows(); ++i) {
      const double square = B(i, j) * B(i, j);
      node.energy += square;
      largest = std::max(largest, square);
      // A symmetric block stores its upper triangle; an entry off the diagonal stands for two.
      if (!with_sizes || (node.on_diagonal && i > j)) continue;
      const int bin = bin_of(square, top);
      if (bin < 0) continue;
      const double times = node.on_diagonal && i < j ? 2 : 1;
      node.sizes->counts[static_cast<std::size_t>(bin)] += 1;
      node.sizes->energies[static_cast<std::size_t>(bin)] += times * square;
    }
  }
  node.largest_square = largest;
  if (!with_sizes) return;
  auto& energies = node.sizes->energies;
  for (std::size_t k = EntrySizes::kBins; k-- > 0;) energies[k] += energies[k + 1];
}

// -------------------------------------------------------------------------------- The quadtree

namespace {

/// Memory per node of a complete tree: the node, its entry sizes and some singular values.
constexpr double kNodeBytes = sizeof(Node) + sizeof(EntrySizes) + 512;

}  // namespace

BlockTree::BlockTree(const BlockSource& source, Index leaf, std::uint64_t seed)
    : source_(source), leaf_(leaf), seed_(seed) {
  Node root;
  root.rows = source.rows();
  root.columns = source.cols();
  root.on_diagonal = source.symmetric();
  levels_.emplace_back();
  levels_[0].push_back(std::move(root));
  if (!source.exhaustive()) return;
  const double leaves = std::ceil(static_cast<double>(source.rows()) / static_cast<double>(leaf)) *
                        std::ceil(static_cast<double>(source.cols()) / static_cast<double>(leaf)) /
                        (source.symmetric() ? 2 : 1);
  require_memory(leaves * 4 / 3 * kNodeBytes, "hierarchical: the tree of blocks");
  divide_all();
  describe_all();
}

bool BlockTree::halves_rows(const Node& node) const {
  return node.rows >= 2 * leaf_ && 2 * node.rows > node.columns;
}

bool BlockTree::halves_columns(const Node& node) const {
  return node.columns >= 2 * leaf_ && 2 * node.columns > node.rows;
}

void BlockTree::divide(std::size_t level, Node& node) {
  if (node.children > 0 || !divisible(node)) return;
  if (level + 1 == levels_.size()) levels_.emplace_back();
  Level& next = levels_[level + 1];
  node.first_child = static_cast<Index>(next.size());
  const Index upper = halves_rows(node) ? (node.rows + 1) / 2 : node.rows;
  const Index left = halves_columns(node) ? (node.columns + 1) / 2 : node.columns;
  for (int c = 0; c < 4; ++c) {
    Node child;
    child.row = node.row + (c % 2 == 0 ? 0 : upper);
    child.rows = c % 2 == 0 ? upper : node.rows - upper;
    child.column = node.column + (c / 2 == 0 ? 0 : left);
    child.columns = c / 2 == 0 ? left : node.columns - left;
    child.on_diagonal = node.on_diagonal && child.row == child.column;
    const bool below = node.on_diagonal && child.row > child.column;
    if (child.rows > 0 && child.columns > 0 && !below) next.push_back(std::move(child));
  }
  node.children = static_cast<Index>(next.size()) - node.first_child;
}

void BlockTree::divide_all() {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    for (Node& node : levels_[l]) divide(l, node);
  }
}

/// Describes all nodes, from the smallest blocks up.
void BlockTree::describe_all() {
  for (std::size_t l = levels_.size(); l-- > 0;) {
    Level& nodes = levels_[l];
    parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
      Node& node = nodes[static_cast<std::size_t>(k)];
      if (node.children == 0) return source_.describe(node, 0);
      node.described = true;
      node.largest_square = 0;
      node.sizes = std::make_unique<EntrySizes>();
      for (Index c = 0; c < node.children; ++c) {
        const Node& part = child(l, node, c);
        const double times = node.on_diagonal && !part.on_diagonal ? 2 : 1;
        node.energy += times * part.energy;
        node.sizes->add(*part.sizes, times);
        node.largest_square = std::max(node.largest_square, part.largest_square);
      }
    });
  }
}

// -------------------------------------------------------------------------- A matrix in memory

namespace {

/// Smaller side up to which all squares that matter are always computed at once, and up to which
/// they may be.
constexpr Index kAlwaysSmall = 128;
constexpr Index kMayBeSmall = 1024;
constexpr Index kSpectrumOversampling = 8;
/// A square below this fraction of the least one that matters suggests that no other matters.
constexpr double kFarBelow = 0.1;
/// Number of random columns at first; each time 1 / kAddedPart of the present number is added.
constexpr Index kFirstColumns = 16;
constexpr Index kAddedPart = 2;
/// Samples that rule out a large block early: side of the smallest one, and columns of the next.
constexpr Index kSampleSide = 512;
constexpr Index kSampledColumns = 1024;
/// Accuracy of a difference from the energy of a block, relative to that energy.
constexpr double kRestAccuracy = 1e-13;
/// Most that rounding adds to a square from a Gram matrix, relative to the largest one.
constexpr double kGramRounding = 1e-14;

bool is_small(Index side, Index count) {
  return side <= kAlwaysSmall || (side <= kMayBeSmall && 3 * count >= side) || count >= side;
}

/// Finds the range of a block, m x n, from Gaussian columns, some at a time [HMT11, 4.4]. Cost of
/// each column: two products and O((m + n) k) operations, k being the number of present columns.
class RangeFinder {
 public:
  /// Keeps references to both.
  RangeFinder(const ConstBlock& B, const Sketch& sketch) : B_(B), sketch_(sketch) {}

  void add_columns() {
    const Index known = Q_.cols();
    const Index side = std::min(B_.rows(), B_.cols());
    const Index added = std::min(std::max(kFirstColumns, known / kAddedPart), side - known);
    Matrix space;
    Matrix Y = kernels::product(B_, sketch_.columns(B_.cols(), known, added, space));
    for (int twice = 0; twice < 2 && known > 0; ++twice) {
      Y -= kernels::product(Q_, kernels::transpose_product(Q_, Y));
      if (twice == 0) Y = kernels::thin_qr(std::move(Y));
    }
    append_columns(Q_, kernels::thin_qr(std::move(Y)));
    // Q^T B is computed and its few rows transposed: that product reads B in place.
    append_columns(BtQ_, kernels::transpose_product(Q_.rightCols(added), B_).transpose());
  }
  Index columns() const { return Q_.cols(); }
  /// Lower bounds of the leading squares of B.
  Vector squares() const {
    const Vector found = squares_of(BtQ_, false);
    return (found.array() - kGramRounding * found(0)).cwiseMax(0.0);
  }
  /// The same after one step of subspace iteration, with one more product.
  Vector refined_squares() const {
    return squares_of(kernels::product(B_, kernels::thin_qr(BtQ_)), false);
  }

 private:
  const ConstBlock& B_;
  const Sketch& sketch_;
  Matrix Q_;
  Matrix BtQ_;
};

/// Lower bounds of leading squares, until `judge` ends the search or a Gram matrix is cheaper.
Vector bounds_of_squares(const ConstBlock& B,
                         const Sketch& sketch,
                         const BlockSource::Judge& judge) {
  RangeFinder range(B, sketch);
  const double energy = B.squaredNorm();
  Vector squares;
  for (auto search = BlockSource::Search::kContinue;
       search == BlockSource::Search::kContinue &&
       !is_small(std::min(B.rows(), B.cols()), range.columns());) {
    range.add_columns();
    squares = range.squares();
    search = judge(squares, std::max(energy - squares.sum(), 0.0));
  }
  return squares;
}

/// Finds the leading squares: all that matter, if the others are negligible or far below `least`;
/// else at least `count`. If `judge` gives up, returns nothing, and only `bounds` are known.
std::optional<LeadingSquares> squares_by_range(const ConstBlock& B,
                                               Index count,
                                               double energy,
                                               double least,
                                               const Sketch& sketch,
                                               const BlockSource::Judge& judge,
                                               Vector& bounds) {
  RangeFinder range(B, sketch);
  for (;;) {
    range.add_columns();
    bounds = range.squares();
    const double rest = std::max(energy - bounds.sum(), 0.0);
    if (rest <= kSearchedRest * least) return LeadingSquares{bounds, rest};
    if (judge(bounds, rest) == BlockSource::Search::kGiveUp) return std::nullopt;
    const Index kept = bounds.size() - kSpectrumOversampling;
    const bool is_all = range.columns() == std::min(B.rows(), B.cols());
    if (kept >= count || is_all || bounds(kept) < kFarBelow * least) {
      return LeadingSquares{range.refined_squares().head(kept)};
    }
  }
}

/// About kSampleSide equally spaced rows and columns of B. No singular value of the sample is
/// larger than that of B.
Matrix sample_of(const ConstBlock& B) {
  const Index down = std::max<Index>(1, B.rows() / kSampleSide);
  const Index across = std::max<Index>(1, B.cols() / kSampleSide);
  return B(Eigen::seqN(0, B.rows() / down, down), Eigen::seqN(0, B.cols() / across, across));
}

/// The same for columns alone, as a view of B.
ConstBlock sampled_columns(const ConstBlock& B) {
  const Index step = std::max<Index>(1, B.cols() / kSampledColumns);
  return Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(
      B.data(), B.rows(), B.cols() / step, Eigen::OuterStride<>(step * B.outerStride()));
}

/// Computes the largest squares by one step of subspace iteration, with three products; used where
/// squares from a Gram matrix are too inaccurate.
Vector accurate_leading_squares(const ConstBlock& B, Index count, const Sketch& sketch) {
  const Index columns = std::min(count + kSpectrumOversampling, std::min(B.rows(), B.cols()));
  Matrix space;
  const Matrix Q =
      kernels::thin_qr(kernels::product(B, sketch.columns(B.cols(), 0, columns, space)));
  const Matrix P = kernels::thin_qr(kernels::transpose_product(B, Q));
  return squares_of(kernels::product(B, P), true).head(count);
}

}  // namespace

ConstBlock Sketch::columns(Index rows, Index first, Index count, Matrix& space) const {
  if (first + count > kHeldColumns || rows > rows_) {
    space.resize(rows, count);
    fill_normal(seed_, RandomStream::kSketch, space, 0, first);
    return space;
  }
  std::call_once(filled_, [&] {
    held_.resize(rows_, kHeldColumns);
    fill_normal(seed_, RandomStream::kSketch, held_);
  });
  return held_.block(0, first, rows, count);
}

ConstBlock HeldMatrix::block(const Node& node, Matrix& /*space*/) const {
  return A_.block(node.row, node.column, node.rows, node.columns);
}

void HeldMatrix::describe(Node& node, double /*least*/) const {
  Matrix none;
  measure_entries(block(node, none), node, true, 2 * top_);
  node.described = true;
}

/// True if samples of a large block suffice to rule it out.
bool HeldMatrix::is_hopeless(Node& node, const ConstBlock& B, const Judge& judge) const {
  const auto is_seen = [&](const ConstBlock& part) {
    node.raise_square_bounds(bounds_of_squares(part, sketch_, judge));
    return judge(node.square_bounds, 0) == Search::kGiveUp;
  };
  if (node.smaller_side() < 2 * kSampleSide) return false;
  if (is_seen(sample_of(B))) return true;
  return node.smaller_side() >= 2 * kSampledColumns && node.square_bounds.size() > kFirstColumns &&
         is_seen(sampled_columns(B));
}

void HeldMatrix::find_spectrum(Node& node, Index count, double least, const Judge& judge) const {
  if (node.complete) return;
  Matrix none;
  const ConstBlock B = block(node, none);
  LeadingSquares found;
  if (node.smaller_side() <= kAlwaysSmall) {
    found = squares_down_to(B, least);
  } else if (is_small(node.smaller_side(), count)) {
    found = {squares_of(B, false), 0, true};
  } else if (is_hopeless(node, B, judge)) {
    return;
  } else if (kSearchedRest * least > kRestAccuracy * node.energy) {
    Vector bounds;
    const auto by_range = squares_by_range(B, count, node.energy, least, sketch_, judge, bounds);
    node.raise_square_bounds(bounds);
    if (!by_range) return;
    found = *by_range;
  } else {
    found.values = accurate_leading_squares(B, count, sketch_);
  }
  node.set_squares(found.values);
  node.rest = found.rest;
  node.complete = found.complete;
  node.accurate = false;
  refine_spectrum(node, least);
}

void HeldMatrix::refine_spectrum(Node& node, double least) const {
  if (node.accurate || !below_gram_accuracy(node.squares, least)) return;
  Matrix none;
  const ConstBlock B = block(node, none);
  const Index known = node.squares.size();
  node.complete = node.complete || is_small(node.smaller_side(), known);
  node.set_squares(node.complete ? squares_of(B, true)
                                 : accurate_leading_squares(B, known, sketch_));
  node.rest = node.complete ? 0 : -1;
  node.accurate = true;
}

Triplets HeldMatrix::triplets(const Node& /*node*/) const {
  throw Error("hierarchical: triplets of a matrix that is held");
}

}  // namespace matapprox::blocks
