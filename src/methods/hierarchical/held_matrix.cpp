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
