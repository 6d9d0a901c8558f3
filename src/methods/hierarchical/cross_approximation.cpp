#include "methods/hierarchical/cross_approximation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox::blocks {
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

}  // namespace matapprox::blocks
