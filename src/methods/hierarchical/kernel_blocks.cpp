#include "methods/hierarchical/kernel_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {

// ----------------------------------------------------------------------------- Order of points

namespace {

Index widest_coordinate(const Matrix& points, std::span<const Index> members) {
  Vector least = points.row(members.front()).transpose();
  Vector greatest = least;
  for (const Index member : members) {
    least = least.cwiseMin(points.row(member).transpose());
    greatest = greatest.cwiseMax(points.row(member).transpose());
  }
  Index widest = 0;
  (greatest - least).maxCoeff(&widest);
  return widest;
}

void halve(const Matrix& points, std::span<Index> members, Index leaf) {
  if (static_cast<Index>(members.size()) < 2 * leaf) {
    // Makes the order independent of the selection algorithm of the standard library.
    std::sort(members.begin(), members.end());
    return;
  }
  const Index coordinate = widest_coordinate(points, members);
  const std::size_t upper = (members.size() + 1) / 2;
  std::nth_element(members.begin(),
                   members.begin() + static_cast<std::ptrdiff_t>(upper),
                   members.end(),
                   [&](Index a, Index b) {
                     const double x = points(a, coordinate);
                     const double y = points(b, coordinate);
                     return x != y ? x < y : a < b;
                   });
  halve(points, members.first(upper), leaf);
  halve(points, members.subspan(upper), leaf);
}

}  // namespace

std::vector<Index> median_order(const Matrix& points, Index leaf) {
  std::vector<Index> order(static_cast<std::size_t>(points.rows()));
  std::iota(order.begin(), order.end(), Index{0});
  halve(points, order, std::max<Index>(leaf, 1));
  return order;
}

// ------------------------------------------------------------------------- Cross approximation

namespace {

/// The remainder may be this many times the least square of a term.
constexpr double kAcceptedRest = 2;
/// Fraction of the largest term's square that is rounding error.
constexpr double kCrossRounding = 1e-29;
/// Pivots below this fraction of the largest entry count as zero: after division by a smaller one,
/// squares would leave the range of doubles.
constexpr double kNothing = 1e-140;

/// Four entries of a stratum, at two rows and two columns, each representing `times` entries.
struct Sample {
  std::array<Index, 2> rows{};
  std::array<Index, 2> columns{};
  Matrix entries;
  double times = 0;
};

std::vector<Sample> take_samples(const BlockEntries& entries, const CrossOptions& options) {
  std::vector<Sample> samples;
  Index number = 0;
  for (const Stratum& part : options.strata) {
    Sample sample;
    const auto draw = [&](Index first, Index count) {
      return first +
             random_index(options.seed, RandomStream::kSampling, options.sequence, number++, count);
    };
    for (Index& row : sample.rows) row = draw(part.row, part.rows);
    for (Index& column : sample.columns) column = draw(part.column, part.columns);
    sample.entries = entries(sample.rows, sample.columns);
    sample.times = static_cast<double>(part.rows) * static_cast<double>(part.columns) / 4;
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// State of the approximation of a block.
class CrossSearch {
 public:
  CrossSearch(Index m, Index n, const BlockEntries& entries, const CrossOptions& options)
      : entries_(entries),
        all_rows_(index_range(0, m)),
        all_columns_(index_range(0, n)),
        X_(m, options.max_rank),
        Y_(n, options.max_rank),
        used_rows_(static_cast<std::size_t>(m), false),
        samples_(take_samples(entries, options)) {
    for (const Sample& sample : samples_) see(sample.entries);
    if (!samples_.empty()) return;
    whole_ = entries(all_rows_, all_columns_);
    see(whole_);
  }

  Index rank() const { return rank_; }

  /// Adds the term whose pivot is the largest remaining entry of `row`. Returns the squared norm of
  /// the term, 0 if nothing remains. `next` becomes the row of the largest remaining entry of its
  /// column.
  double add_term(Index row, Index& next) {
    used_rows_[static_cast<std::size_t>(row)] = true;
    Vector v = row_of(row);
    if (rank_ == 0) see(v);
    v.noalias() -= Y_.leftCols(rank_) * X_.row(row).head(rank_).transpose();
    Index column = 0;
    const double largest = v.cwiseAbs().maxCoeff(&column);
    if (!(largest > kNothing * std::sqrt(largest_square_))) return 0;
    Vector u = column_of(column);
    if (rank_ == 0) see(u);
    u.noalias() -= X_.leftCols(rank_) * Y_.row(column).head(rank_).transpose();
    u /= v(column);
    X_.col(rank_) = u;
    Y_.col(rank_) = v;
    ++rank_;
    next = largest_unused(u);
    return u.squaredNorm() * v.squaredNorm();
  }

  /// Returns |B - X Y^T|_F^2, estimated if there are strata; `worst` becomes the row of the largest
  /// remaining entry among the checked ones.
  double check(Index& worst) const {
    if (samples_.empty()) {
      const Matrix left = whole_ - kernels::product(kernels::Trans::kNo,
                                                    Matrix(X_.leftCols(rank_)),
                                                    kernels::Trans::kYes,
                                                    Matrix(Y_.leftCols(rank_)));
      Index column = 0;
      left.cwiseAbs().maxCoeff(&worst, &column);
      return left.squaredNorm();
    }
    double sum = 0;
    double largest = -1;
    for (const Sample& sample : samples_) {
      for (Index i = 0; i < 2; ++i) {
        const Index row = sample.rows[static_cast<std::size_t>(i)];
        for (Index j = 0; j < 2; ++j) {
          const Index column = sample.columns[static_cast<std::size_t>(j)];
          const double left = std::abs(sample.entries(i, j) -
                                       X_.row(row).head(rank_).dot(Y_.row(column).head(rank_)));
          sum += sample.times * left * left;
          if (left <= largest) continue;
          largest = left;
          worst = row;
        }
      }
    }
    return sum;
  }

  CrossApproximation result(double rest) const {
    return {X_.leftCols(rank_), Y_.leftCols(rank_), rest, largest_square_};
  }

 private:
  Vector row_of(Index row) const {
    if (whole_.size() > 0) return whole_.row(row).transpose();
    return entries_({&row, 1}, all_columns_).transpose();
  }

  Vector column_of(Index column) const {
    if (whole_.size() > 0) return whole_.col(column);
    return entries_(all_rows_, {&column, 1});
  }

  void see(const ConstBlock& values) {
    largest_square_ = std::max(largest_square_, std::pow(values.cwiseAbs().maxCoeff(), 2));
  }

  Index largest_unused(const Vector& u) const {
    Index row = 0;
    double largest = -1;
    for (Index i = 0; i < u.size(); ++i) {
      if (used_rows_[static_cast<std::size_t>(i)] || !(std::abs(u(i)) > largest)) continue;
      largest = std::abs(u(i));
      row = i;
    }
    return row;
  }

  const BlockEntries& entries_;
  std::vector<Index> all_rows_;
  std::vector<Index> all_columns_;
  Matrix X_;
  Matrix Y_;
  Index rank_ = 0;
  std::vector<bool> used_rows_;
  std::vector<Sample> samples_;
  Matrix whole_;  ///< all entries, if all are checked
  double largest_square_ = 0;
};

}  // namespace

CrossApproximation cross_approximation(Index m,
                                       Index n,
                                       const BlockEntries& entries,
                                       const CrossOptions& options) {
  CrossOptions limited = options;
  limited.max_rank = std::min({options.max_rank, m, n});
  CrossSearch search(m, n, entries, limited);
  Index row = options.first_row;
  double first_term = 0;
  for (Index pass = 0;; ++pass) {
    double term = 0;
    const Index before = search.rank();
    do {
      term = search.add_term(row, row);
      first_term = std::max(first_term, term);
    } while (term > options.least && search.rank() < limited.max_rank);
    Index worst = row;
    const double rest = search.check(worst);
    const bool full = search.rank() == limited.max_rank;
    // The first row may be zero; the worst row among the checked ones is not.
    const bool is_stuck = pass > 0 && search.rank() == before;
    if (full || is_stuck || rest <= kAcceptedRest * options.least ||
        rest <= kCrossRounding * first_term) {
      // The last term is a better estimate of the rest than a few entries that happen to be small.
      const double of_term = full ? term : std::min(term, options.least);
      return search.result(options.strata.empty() ? rest : std::max(rest, of_term));
    }
    row = worst;
  }
}

// ------------------------------------------------------------------- Blocks of a kernel matrix

namespace {

/// Largest side of a block computed as a whole, if its points are well separated and if not.
constexpr Index kComputedApart = 64;
constexpr Index kComputedNear = 128;
/// Number of triplets that describe a block, if its points are well separated and if not. In the
/// latter case triplets rarely pay, and a few show how fast singular values decay.
constexpr Index kRankApart = 48;
constexpr Index kRankNear = 16;
/// A cross approximation continues down to this fraction of the least square that is worth its
/// bytes: the remainder is an error, and lower prices require more terms.
constexpr double kCrossShare = 0.1;
/// Points are well separated if their distance is more than this times the smaller diameter. This
/// only selects the cheaper way of examining a block.
constexpr double kApart = 0.5;
constexpr Index kEnergyColumns = 64;
/// Largest side of a block whose entries are all checked if its points are not well separated.
constexpr Index kCheckedWhole = 256;
/// Least number of times a block is halved into strata, whose entries are checked.
constexpr int kStratumHalvings = 3;
/// Bytes of factors above which the available memory is checked first.
constexpr double kLargeFactors = 1 << 27;

/// A power of 2 that brings the entries to at most 1.
double scale_of(const KernelOperator& A) {
  const double largest = A.diagonal().cwiseAbs().maxCoeff();
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

std::vector<Index> places(Index first, std::span<const Index> offsets) {
  std::vector<Index> result(offsets.begin(), offsets.end());
  for (Index& place : result) place += first;
  return result;
}

/// The eigenpairs of (X Y^T + Y X^T) / 2 by descending magnitude.
Triplets symmetric_triplets(const Matrix& X, const Matrix& Y) {
  Matrix both(X.rows(), 2 * X.cols());
  both << X, Y;
  const Matrix Q = kernels::thin_qr(std::move(both));
  const Matrix left = kernels::transpose_product(Q, X);
  const Matrix right = kernels::transpose_product(Q, Y);
  const Matrix half = 0.5 * left * right.transpose();
  const kernels::SymmetricEigen pairs = kernels::symmetric_eigen(half + half.transpose());
  std::vector<Index> order(static_cast<std::size_t>(pairs.values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(pairs.values(a)) > std::abs(pairs.values(b));
  });
  order.resize(static_cast<std::size_t>(std::min(X.cols(), X.rows())));
  return {kernels::product(Q, Matrix(pairs.vectors(Eigen::all, order))), pairs.values(order), {}};
}

}  // namespace

KernelBlocks::KernelBlocks(const KernelOperator& A,
                           std::span<const Index> order,
                           Index leaf,
                           std::uint64_t seed)
    : kernel_(order.empty() ? A.points() : Matrix(A.points()(order, Eigen::all)), A.options()),
      leaf_(leaf),
      seed_(seed),
      scale_(scale_of(A)) {
  find_boxes(0, rows());
}

/// Finds the boxes of all ranges that can be a side of a block in a BlockTree.
void KernelBlocks::find_boxes(Index first, Index count) {
  const auto points = kernel_.points().middleRows(first, count);
  boxes_.insert(
      {{first, count},
       {points.colwise().minCoeff().transpose(), points.colwise().maxCoeff().transpose()}});
  if (!is_halved(count)) return;
  const Index upper = (count + 1) / 2;
  find_boxes(first, upper);
  find_boxes(first + upper, count - upper);
}

bool KernelBlocks::is_well_separated(const Stratum& part) const {
  if (part.row == part.column) return false;
  const Box& a = box(part.row, part.rows);
  const Box& b = box(part.column, part.columns);
  const Vector gaps = (a.low - b.high).cwiseMax(b.low - a.high);
  // The Laplacian kernel has a kink where two points share a coordinate, however far apart they
  // are.
  if (kernel_.options().function == KernelFunction::kLaplacian) return gaps.minCoeff() >= 0;
  const double distance = gaps.cwiseMax(0.0).norm();
  return distance > kApart * std::min((a.high - a.low).norm(), (b.high - b.low).norm());
}

/// Divides a part until its points are well separated, and at least `halvings` times.
void KernelBlocks::add_strata(const Stratum& part,
                              int halvings,
                              std::vector<Stratum>& strata) const {
  const bool rows = is_halved(part.rows);
  const bool columns = is_halved(part.columns);
  if ((!rows && !columns) || (halvings <= 0 && is_well_separated(part))) {
    strata.push_back(part);
    return;
  }
  const Index upper = rows ? (part.rows + 1) / 2 : part.rows;
  const Index left = columns ? (part.columns + 1) / 2 : part.columns;
  for (const bool lower : {false, true}) {
    for (const bool right : {false, true}) {
      const Stratum child{part.row + (lower ? upper : 0),
                          lower ? part.rows - upper : upper,
                          part.column + (right ? left : 0),
                          right ? part.columns - left : left};
      if (child.rows > 0 && child.columns > 0) add_strata(child, halvings - 1, strata);
    }
  }
}

std::vector<Stratum> KernelBlocks::strata(const Node& node) const {
  std::vector<Stratum> strata;
  if (node.larger_side() <= kCheckedWhole && !is_well_separated(node)) return strata;
  add_strata({node.row, node.rows, node.column, node.columns}, kStratumHalvings, strata);
  for (Stratum& part : strata) {
    part.row -= node.row;
    part.column -= node.column;
  }
  return strata;
}

bool KernelBlocks::is_computed(const Node& node) const {
  const Index side = node.larger_side();
  return side <= kComputedApart || (side <= kComputedNear && !is_well_separated(node));
}

/// The row of the point that is nearest to the box of the columns.
Index KernelBlocks::nearest_row(const Node& node) const {
  const Box& columns = box(node.column, node.columns);
  Index nearest = 0;
  Vector squares = Vector::Zero(node.rows);
  for (Index d = 0; d < kernel_.points().cols(); ++d) {
    const auto x = kernel_.points().col(d).segment(node.row, node.rows).array();
    squares.array() += (columns.low(d) - x).max(x - columns.high(d)).max(0.0).square();
  }
  squares.minCoeff(&nearest);
  return nearest;
}

Matrix KernelBlocks::entries(Index row, Index rows, Index column, Index columns) const {
  return scale_ * kernel_.block(index_range(row, rows), index_range(column, columns));
}

ConstBlock KernelBlocks::block(const Node& node, Matrix& space) const {
  space = entries(node.row, node.rows, node.column, node.columns);
  return space;
}

double KernelBlocks::energy() const {
  const Index count = std::min(rows(), kEnergyColumns);
  std::vector<Index> columns;
  for (Index k = 0; k < count; ++k) columns.push_back((2 * k + 1) * rows() / (2 * count));
  return (scale_ * kernel_.columns_at(columns)).squaredNorm() * static_cast<double>(rows()) /
         static_cast<double>(count);
}

/// True if single rows and columns may differ from all others, which samples would miss. Such
/// blocks are left to their children.
bool KernelBlocks::has_kinks(const Node& node) const {
  return kernel_.options().function == KernelFunction::kLaplacian &&
         node.larger_side() > kCheckedWhole && !is_well_separated(node);
}

double KernelBlocks::sampled_energy(const Node& node) const {
  double sum = 0;
  for (const Stratum& part : strata(node)) {
    const Index row = node.row + part.row + part.rows / 2;
    const Index column = node.column + part.column + part.columns / 2;
    sum += static_cast<double>(part.rows) * static_cast<double>(part.columns) *
           entries(row, 1, column, 1).squaredNorm();
  }
  return sum;
}

void KernelBlocks::describe(Node& node, double least) const {
  node.described = true;
  node.smooth = is_well_separated(node);
  if (has_kinks(node)) {
    node.energy = sampled_energy(node);
    return;
  }
  if (!is_computed(node))
    return find_spectrum(node, node.smooth ? kRankApart : kRankNear, least, {});
  Matrix space;
  measure_entries(block(node, space), node, !node.smooth);
}

CrossApproximation KernelBlocks::cross(const Node& node) const {
  const double bytes = 8.0 * static_cast<double>((node.rows + node.columns) * node.requested_rank);
  if (bytes > kLargeFactors) require_memory(2 * bytes, "hierarchical: a cross approximation");
  const auto entries_of = [&](std::span<const Index> I, std::span<const Index> J) -> Matrix {
    return scale_ * kernel_.block(places(node.row, I), places(node.column, J));
  };
  CrossOptions options;
  options.max_rank = node.requested_rank;
  options.least = kCrossShare * node.asked_least;
  options.first_row = nearest_row(node);
  options.strata = strata(node);
  options.seed = seed_;
  options.sequence = node.row * rows() + node.column;
  return cross_approximation(node.rows, node.columns, entries_of, options);
}

void KernelBlocks::find_spectrum(Node& node,
                                 Index count,
                                 double least,
                                 const Judge& /*judge*/) const {
  if (node.complete || has_kinks(node)) return;
  if (is_computed(node)) {
    Matrix space;
    node.set_squares(squares_of(block(node, space), false));
    node.complete = true;
    return refine_spectrum(node, least);
  }
  node.requested_rank = std::min(count, node.smaller_side());
  node.asked_least = least;
  const CrossApproximation found = cross(node);
  const Matrix core =
      kernels::triangular_factor(found.X) * kernels::triangular_factor(found.Y).transpose();
  node.set_squares(kernels::singular_values(core).cwiseAbs2());
  node.rest = found.rest;
  node.energy = found.rest + (node.tails.size() > 0 ? node.tails(0) : 0);
  node.largest_square = found.largest_square;
}

void KernelBlocks::refine_spectrum(Node& node, double least) const {
  if (!lacks_digits(node, least)) return;
  Matrix space;
  node.set_squares(squares_of(block(node, space), true));
  node.accurate = true;
}

Triplets KernelBlocks::triplets(const Node& node) const {
  const CrossApproximation found = cross(node);
  if (node.on_diagonal) return symmetric_triplets(found.X, found.Y);
  Matrix left;
  Matrix right;
  const Matrix P = kernels::thin_qr(found.X, &left);
  const Matrix Q = kernels::thin_qr(found.Y, &right);
  const kernels::Svd core = kernels::svd(left * right.transpose());
  return {kernels::product(P, core.U), core.S, kernels::product(Q, core.V)};
}

}  // namespace matapprox::blocks
