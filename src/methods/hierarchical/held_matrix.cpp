#include "methods/hierarchical/held_matrix.hpp"

#include <algorithm>
#include <optional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/append_columns.hpp"

namespace matapprox::blocks {
namespace {

/// Smaller sides up to which all squares that matter are found at once, and up to which they may
/// be.
constexpr Index kAlwaysSmall = 128;
constexpr Index kMayBeSmall = 1024;
constexpr Index kSpectrumOversampling = 8;
/// Squares that are so far below the least one that matters are enough of a sign that no more do.
constexpr double kFarBelow = 0.1;
/// Random columns at first, and what part of those that are there is added each time.
constexpr Index kFirstColumns = 16;
constexpr Index kAddedPart = 2;
/// Samples of a large block, by which it is given up sooner: the side of the smallest one, and
/// columns of the next.
constexpr Index kSampleSide = 512;
constexpr Index kSampledColumns = 1024;
/// Of the energy of a block: what is left of it after subtraction is right to that.
constexpr double kRestAccuracy = 1e-13;
/// Of the largest square: what rounding may add to one that a Gram matrix gives, at most.
constexpr double kGramRounding = 1e-14;

bool is_small(Index side, Index count) {
  return side <= kAlwaysSmall || (side <= kMayBeSmall && 3 * count >= side) || count >= side;
}

/// Range of a block, m x n, found from Gaussian columns, some at a time [HMT11, 4.4]: two products
/// and O((m + n) k) operations for each column, k that there are.
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
    // The transpose of few rows: a product that reads B where it lies.
    append_columns(BtQ_, kernels::transpose_product(Q_.rightCols(added), B_).transpose());
  }
  Index columns() const { return Q_.cols(); }
  /// Lower bounds of the leading squares of B.
  Vector squares() const {
    const Vector found = squares_of(BtQ_, false);
    return (found.array() - kGramRounding * found(0)).cwiseMax(0.0);
  }
  /// The same from one step of subspace iteration, one product more.
  Vector refined_squares() const {
    return squares_of(kernels::product(B_, kernels::thin_qr(BtQ_)), false);
  }

 private:
  const ConstBlock& B_;
  const Sketch& sketch_;
  Matrix Q_;
  Matrix BtQ_;
};

/// Lower bounds of the leading squares: until `judge` ends it, or a Gram matrix would be cheaper.
Vector bounds_of_squares(const ConstBlock& B,
                         const Sketch& sketch,
                         const BlockSource::Judge& judge) {
  RangeFinder range(B, sketch);
  const double energy = B.squaredNorm();
  Vector squares;
  for (auto search = BlockSource::Search::kGoOn;
       search == BlockSource::Search::kGoOn &&
       !is_small(std::min(B.rows(), B.cols()), range.columns());) {
    range.add_columns();
    squares = range.squares();
    search = judge(squares, std::max(energy - squares.sum(), 0.0));
  }
  return squares;
}

/// The leading squares: all that matter, if those that are left come to little beside `least` or
/// are small; none but bounds, where `judge` gives up; else `count` of them.
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

/// Rows and columns of B as far apart as leaves about kSampleSide: no singular value is larger than
/// that of B.
Matrix sample_of(const ConstBlock& B) {
  const Index down = std::max<Index>(1, B.rows() / kSampleSide);
  const Index across = std::max<Index>(1, B.cols() / kSampleSide);
  return B(Eigen::seqN(0, B.rows() / down, down), Eigen::seqN(0, B.cols() / across, across));
}

/// The same of columns alone, which are read where they lie.
ConstBlock sampled_columns(const ConstBlock& B) {
  const Index step = std::max<Index>(1, B.cols() / kSampledColumns);
  return Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>(
      B.data(), B.rows(), B.cols() / step, Eigen::OuterStride<>(step * B.outerStride()));
}

/// The largest ones by one step of subspace iteration, three products, where squares from a Gram
/// matrix are not right.
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

/// Whether samples of a large block are enough to give it up.
bool HeldMatrix::is_hopeless(Node& node, const ConstBlock& B, const Judge& judge) const {
  const auto is_seen = [&](const ConstBlock& part) {
    node.raise_least_squares(bounds_of_squares(part, sketch_, judge));
    return judge(node.least_squares, 0) == Search::kGiveUp;
  };
  if (node.smaller_side() < 2 * kSampleSide) return false;
  if (is_seen(sample_of(B))) return true;
  return node.smaller_side() >= 2 * kSampledColumns && node.least_squares.size() > kFirstColumns &&
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
    node.raise_least_squares(bounds);
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
