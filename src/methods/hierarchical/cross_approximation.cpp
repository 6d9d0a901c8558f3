#include "methods/hierarchical/cross_approximation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox::blocks {
namespace {

/// Rows and columns of the array of entries that what is left is judged by.
constexpr Index kCheckedSide = 24;
/// What is left may be so many times the least square of a term.
constexpr double kAcceptedRest = 2;
/// How often a search is taken up again from what was left.
constexpr int kMaxRestarts = 8;

struct Place {
  Index row = 0;
  Index column = 0;
};

/// One random index in each of equal parts of 0 .. size - 1: points in order are near each other.
std::vector<Index> stratified(Index size, const CrossOptions& options, Index stream) {
  const Index count = std::min(size, kCheckedSide);
  std::vector<Index> chosen;
  for (Index k = 0; k < count; ++k) {
    const Index first = k * size / count;
    const Index width = (k + 1) * size / count - first;
    chosen.push_back(
        first +
        random_index(
            options.seed, RandomStream::kSampling, 2 * options.sequence + stream, k, width));
  }
  return chosen;
}

/// A block under approximation.
class CrossSearch {
 public:
  CrossSearch(Index m, Index n, const BlockEntries& entries, const CrossOptions& options)
      : entries_(entries),
        all_rows_(index_range(0, m)),
        all_columns_(index_range(0, n)),
        X_(m, options.max_rank),
        Y_(n, options.max_rank),
        used_rows_(static_cast<std::size_t>(m), false),
        checked_rows_(stratified(m, options, 0)),
        checked_columns_(stratified(n, options, 1)),
        checked_(entries(checked_rows_, checked_columns_)) {
    see(checked_);
  }

  Index rank() const { return rank_; }

  /// Adds the term of the largest entry that is left in a row; its squared norm, 0 where nothing is
  /// left. `next` becomes the row of the largest entry left in its column.
  double add_term(Index row, Index& next) {
    used_rows_[static_cast<std::size_t>(row)] = true;
    Vector v = entries_({&row, 1}, all_columns_).transpose();
    if (rank_ == 0) see(v);
    v.noalias() -= Y_.leftCols(rank_) * X_.row(row).head(rank_).transpose();
    Index column = 0;
    if (!(v.cwiseAbs().maxCoeff(&column) > 0)) return 0;
    Vector u = entries_(all_rows_, {&column, 1});
    if (rank_ == 0) see(u);
    u.noalias() -= X_.leftCols(rank_) * Y_.row(column).head(rank_).transpose();
    u /= v(column);
    X_.col(rank_) = u;
    Y_.col(rank_) = v;
    ++rank_;
    const double square = u.squaredNorm() * v.squaredNorm();
    next = largest_unused(u);
    return square;
  }

  /// Squared error, from the array of entries, and where it is largest.
  double check(Place& worst) const {
    const Matrix left = checked_ - X_(checked_rows_, Eigen::seqN(0, rank_)) *
                                       Y_(checked_columns_, Eigen::seqN(0, rank_)).transpose();
    left.cwiseAbs().maxCoeff(&worst.row, &worst.column);
    worst.row = checked_rows_[static_cast<std::size_t>(worst.row)];
    worst.column = checked_columns_[static_cast<std::size_t>(worst.column)];
    return left.squaredNorm() / static_cast<double>(left.size()) * static_cast<double>(X_.rows()) *
           static_cast<double>(Y_.rows());
  }

  CrossApproximation result(double rest) const {
    return {X_.leftCols(rank_), Y_.leftCols(rank_), rest, largest_square_};
  }

 private:
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
  std::vector<Index> checked_rows_;
  std::vector<Index> checked_columns_;
  Matrix checked_;
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
  double term = 0;
  double rest = 0;
  for (int restart = 0;; ++restart) {
    do {
      term = search.add_term(row, row);
    } while (term > options.least && search.rank() < limited.max_rank);
    Place worst;
    rest = search.check(worst);
    if (search.rank() == limited.max_rank || rest <= kAcceptedRest * options.least ||
        restart == kMaxRestarts) {
      break;
    }
    row = worst.row;
  }
  // The last term says more of what is left than a few entries that happen to be small.
  const double of_term = search.rank() < limited.max_rank ? std::min(term, options.least) : term;
  if (search.rank() == std::min(m, n)) return search.result(rest);
  return search.result(std::max(rest, of_term));
}

}  // namespace matapprox::blocks
