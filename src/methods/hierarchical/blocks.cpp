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
constexpr Index kFirstColumns = 24;
constexpr Index kAddedPart = 2;
/// Smaller side from which on the range of a block is kept for the next search. All that are kept
/// take at most about the memory of the matrix.
constexpr Index kKeptRange = 512;
/// Accuracy of a difference from the energy of a block, relative to that energy.
constexpr double kRestAccuracy = 1e-13;
/// Most that rounding adds to a square from a Gram matrix, relative to the largest one.
constexpr double kGramRounding = 1e-14;

bool is_small(Index side, Index count) {
  return side <= kAlwaysSmall || (side <= kMayBeSmall && 3 * count >= side) || count >= side;
}

/// Extends the range of a block, m x n, by Gaussian columns [HMT11, 4.4]. Cost of each column: two
/// products and O((m + n) k) operations, k being the number of present columns.
void extend(Range& range, const ConstBlock& B, const Sketch& sketch, Index added) {
  const Index known = range.Q.cols();
  Matrix space;
  Matrix Y = kernels::product(B, sketch.columns(B.cols(), known, added, space));
  for (int twice = 0; twice < 2 && known > 0; ++twice) {
    Y -= kernels::product(range.Q, kernels::transpose_product(range.Q, Y));
    if (twice == 0) Y = kernels::thin_qr(std::move(Y));
  }
  append_columns(range.Q, kernels::thin_qr(std::move(Y)));
  // Q^T B is computed and its few rows transposed: that product reads B in place.
  append_columns(range.BtQ, kernels::transpose_product(range.Q.rightCols(added), B).transpose());
}

/// Extends the range of a node until it has the leading squares: all that matter, if the others are
/// negligible or far below `least`; else at least `count`. If `judge` ends the search, returns
/// nothing, and only the node's bounds are known. `accurate`: squares of a Gram matrix lack digits.
std::optional<LeadingSquares> squares_by_range(Node& node,
                                               const ConstBlock& B,
                                               Index count,
                                               double least,
                                               bool accurate,
                                               const Sketch& sketch,
                                               const BlockSource::Judge& judge) {
  const bool rest_is_known = kSearchedRest * least > kRestAccuracy * node.energy;
  const double rounding = accurate ? 0 : kGramRounding;
  Range& range = node.range;
  if (range.Q.cols() == 0) extend(range, B, sketch, std::min(kFirstColumns, node.smaller_side()));
  for (;;) {
    const Index columns = range.Q.cols();
    const Vector found = squares_of(range.BtQ, accurate);
    const Vector bounds = (found.array() - rounding * found(0)).cwiseMax(0.0);
    node.raise_square_bounds(bounds);
    const double rest = std::max(node.energy - bounds.sum(), 0.0);
    if (rest_is_known && rest <= kSearchedRest * least) return LeadingSquares{bounds, rest};
    if (judge(bounds)) return std::nullopt;
    const Index kept = columns - kSpectrumOversampling;
    if (kept >= count || columns == node.smaller_side() || bounds(kept) < kFarBelow * least) {
      // One step of subspace iteration.
      const Matrix refined = kernels::product(B, kernels::thin_qr(range.BtQ));
      return LeadingSquares{squares_of(refined, accurate).head(kept)};
    }
    const Index added = std::max(kFirstColumns, columns / kAddedPart);
    extend(range, B, sketch, std::min(added, node.smaller_side() - columns));
  }
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

void HeldMatrix::find_spectrum(Node& node, Index count, double least, const Judge& judge) const {
  if (node.complete) return;
  Matrix none;
  const ConstBlock B = block(node, none);
  LeadingSquares found;
  bool accurate = false;
  if (node.smaller_side() <= kAlwaysSmall) {
    found = squares_down_to(B, least);
  } else if (is_small(node.smaller_side(), count)) {
    found = {squares_of(B, false), 0, true};
  } else {
    accurate = least < kGramAccuracy * node.energy;
    const auto by_range = squares_by_range(node, B, count, least, accurate, sketch_, judge);
    if (by_range) found = *by_range;
    if (node.smaller_side() < kKeptRange) node.range = {};
    if (!by_range) return;
  }
  node.set_squares(found.values);
  node.rest = found.rest;
  node.complete = found.complete;
  node.accurate = accurate;
  refine_spectrum(node, least);
}

/// Squares that a search found have the digits that it needed; those of a later, smaller `least`
/// may need more.
void HeldMatrix::refine_spectrum(Node& node, double least) const {
  if (node.accurate || !below_gram_accuracy(node.squares, least)) return;
  const Index known = node.squares.size();
  if (node.complete || is_small(node.smaller_side(), known)) {
    Matrix none;
    node.set_squares(squares_of(block(node, none), true));
    node.complete = true;
    node.rest = 0;
    node.accurate = true;
  } else {
    find_spectrum(node, known, least, [](const Vector& /*squares*/) { return false; });
  }
  if (node.complete) node.range = {};
}

Triplets HeldMatrix::triplets(const Node& /*node*/) const {
  throw Error("hierarchical: triplets of a matrix that is held");
}

}  // namespace matapprox::blocks
