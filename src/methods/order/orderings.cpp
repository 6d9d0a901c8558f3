#include "methods/order/orderings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <unsupported/Eigen/FFT>
#include <utility>

#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/order/graph_order.hpp"

namespace matapprox::node_order {

// ----------------------------------------------------------------------------------- Hop costs

namespace {

constexpr double kUnreachable = 20;

/// Returns counts(d) after one more factor: the sum of counts((d - o) mod N) over its links o.
Vector one_factor_more(const Vector& counts, const std::vector<Index>& offsets) {
  const Index n = counts.size();
  Vector result = Vector::Zero(n);
  for (const Index o : offsets) {
    result.tail(n - o) += counts.head(n - o);
    result.head(o) += counts.tail(o);
  }
  return result;
}

/// Returns the sum over d of f(d + t) g(d) for t = 0 .. n-1, where f has 2 n numbers and g has n.
Vector correlation(const Vector& f, const Vector& g) {
  Index length = 1;
  while (length < f.size()) length *= 2;
  Vector padded_f = Vector::Zero(length);
  Vector padded_g = Vector::Zero(length);
  padded_f.head(f.size()) = f;
  padded_g.head(g.size()) = g;
  Eigen::FFT<double> fft;
  Eigen::VectorXcd transformed_f(length);
  Eigen::VectorXcd transformed_g(length);
  fft.fwd(transformed_f, padded_f);
  fft.fwd(transformed_g, padded_g);
  transformed_f.array() *= transformed_g.conjugate().array();
  fft.inv(padded_f, transformed_f);
  return padded_f.head(g.size());
}

}  // namespace

Vector hop_costs(const ChordPattern& pattern, bool symmetrized) {
  const Index n = pattern.order;
  Vector counts = Vector::Unit(n, 0);
  for (const auto& offsets : pattern.offsets) {
    counts = one_factor_more(counts, offsets);
    counts /= counts.maxCoeff();  // only ratios count, and sums over many factors would overflow
  }
  if (symmetrized) {
    Vector mirrored(n);
    for (Index d = 0; d < n; ++d) mirrored(d) = counts(d) + counts((n - d) % n);
    counts = mirrored;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const double count : counts) {
    if (count > 0) least = std::min(least, count);
  }
  const double most = counts.maxCoeff();
  const double range = most > least ? std::log(most / least) : 1.0;
  return counts.unaryExpr(
      [&](double count) { return count > 0 ? std::log(most / count) / range : kUnreachable; });
}

double hop_cost(const Entries& entries, const Ordering& ordering, const Vector& costs) {
  const std::vector<Index> rows = inverse_of(ordering.rows);
  const std::vector<Index> columns = inverse_of(ordering.columns);
  const auto n = costs.size();
  const auto place = [](const std::vector<Index>& places, Index node) {
    return places.empty() ? node : places[static_cast<std::size_t>(node)];
  };
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    for (SparseMatrix::InnerIterator entry(entries.sizes, i); entry; ++entry) {
      const Index d = place(columns, entry.col()) - place(rows, i);
      sum += entry.value() * costs(d < 0 ? d + n : d);
    }
  }
  return sum;
}

Index best_shift(const Vector& by_distance, const Vector& costs) {
  Vector twice(2 * by_distance.size());
  twice << by_distance, by_distance;
  const Vector sums = correlation(twice, costs);
  // Sums that differ only by rounding are equal.
  const double enough = sums.minCoeff() + 1e-9 * by_distance.sum();
  const auto best =
      std::find_if(sums.begin(), sums.end(), [&](double sum) { return sum <= enough; });
  return best == sums.end() ? 0 : best - sums.begin();  // no sum is found if one overflows
}

// ----------------------------------------------------------------------------------- Annealing

namespace {

constexpr double kStartTemperature = 0.003;  // relative to the mean row sum of |a|
constexpr double kEndTemperature = 1e-3;     // relative to the start temperature
constexpr double kProposalsPerRow = 5000;
constexpr double kMaxWork = 1e9;              // entries read: a few seconds
constexpr double kProposalWork = 10;          // work of drawing a proposal, in the same unit
constexpr Index kProposalsPerLook = 1 << 14;  // proposals per temperature update and stop check

/// The places of the rows or of the columns.
struct Side {
  std::vector<Index> node_at;
  std::vector<Index> place_of;

  explicit Side(std::vector<Index> nodes)
      : node_at(std::move(nodes)), place_of(inverse_of(node_at)) {}
  Index node(Index place) const { return node_at[static_cast<std::size_t>(place)]; }
  Index place(Index node) const { return place_of[static_cast<std::size_t>(node)]; }
  void swap_places(Index x, Index y) {
    auto& at_x = node_at[static_cast<std::size_t>(x)];
    auto& at_y = node_at[static_cast<std::size_t>(y)];
    std::swap(at_x, at_y);
    place_of[static_cast<std::size_t>(at_x)] = x;
    place_of[static_cast<std::size_t>(at_y)] = y;
  }
};

struct Proposal {
  Index x = 0;
  Index y = 0;
  bool columns = false;
  double chance = 0;  ///< uniform in (0, 1)
};

class HopAnnealing {
 public:
  HopAnnealing(const Entries& entries, const Ordering& start, const Vector& costs, bool together)
      : n_(costs.size()),
        log_of_half_(std::log(std::max(static_cast<double>(n_) / 2, 1.0))),
        costs_(costs),
        together_(together),
        of_rows_(together ? joined(entries) : entries.sizes),
        of_columns_(together ? SparseMatrix() : SparseMatrix(entries.sizes.transpose())),
        rows_(start.rows),
        columns_(start.columns) {}

  void run(std::uint64_t seed, const RunControl& control) {
    const auto n = static_cast<double>(n_);
    const double work_each = 2 * static_cast<double>(of_rows_.nonZeros()) / n + kProposalWork;
    const auto proposals = static_cast<Index>(std::min(kProposalsPerRow * n, kMaxWork / work_each));
    const double hottest = kStartTemperature * of_rows_.sum() / n / (together_ ? 2 : 1);
    double temperature = hottest;
    for (Index t = 0; t < proposals; ++t) {
      if (t % kProposalsPerLook == 0) {
        control.throw_if_stopped("chord");
        const double part = static_cast<double>(t) / static_cast<double>(proposals);
        temperature = hottest * std::pow(kEndTemperature, part);
      }
      const Proposal swap = proposal(seed, t);
      if (swap.x == swap.y) continue;
      const double change = change_by(swap);
      if (change <= 0 || swap.chance < std::exp(-change / temperature)) accept(swap);
    }
  }

  Ordering result() const { return {rows_.node_at, together_ ? rows_.node_at : columns_.node_at}; }

 private:
  Proposal proposal(std::uint64_t seed, Index t) const {
    const auto words = random_words(seed, RandomStream::kChordOrder, 0, t);
    constexpr double kUnit = 1.0 / 4294967296.0;
    const auto uniform = [&](std::size_t w) { return (words[w] + 0.5) * kUnit; };
    const auto n = static_cast<double>(n_);
    const auto distance = static_cast<Index>(std::exp(uniform(1) * log_of_half_));
    Proposal swap;
    swap.x = std::min(static_cast<Index>(uniform(0) * n), n_ - 1);
    swap.y = (swap.x + distance) % n_;
    swap.columns = !together_ && words[3] % 2 == 1;
    swap.chance = uniform(2);
    return swap;
  }

  /// Change of the hop cost by a swap.
  double change_by(const Proposal& swap) const {
    if (together_) {
      return moved<1>(of_rows_, rows_, rows_, swap.x, swap.y) +
             moved<1>(of_rows_, rows_, rows_, swap.y, swap.x);
    }
    if (swap.columns) {
      return moved<-1>(of_columns_, columns_, rows_, swap.x, swap.y) +
             moved<-1>(of_columns_, columns_, rows_, swap.y, swap.x);
    }
    return moved<1>(of_rows_, rows_, columns_, swap.x, swap.y) +
           moved<1>(of_rows_, rows_, columns_, swap.y, swap.x);
  }

  /// Change of the cost of the entries of the node at `from` when it moves to `to` and the other
  /// side stays as it is. If both sides move, an entry between the two nodes keeps its distance up
  /// to the sign.
  template <int sign>
  double moved(
      const SparseMatrix& own, const Side& side, const Side& others, Index from, Index to) const {
    double change = 0;
    for (SparseMatrix::InnerIterator entry(own, side.node(from)); entry; ++entry) {
      const Index other = others.place(entry.col());
      if (together_ && other == to) continue;
      change += entry.value() * (cost(sign * (other - to)) - cost(sign * (other - from)));
    }
    return change;
  }

  double cost(Index d) const { return costs_(d < 0 ? d + n_ : d); }

  void accept(const Proposal& swap) {
    (swap.columns ? columns_ : rows_).swap_places(swap.x, swap.y);
  }

  Index n_;
  double log_of_half_;
  const Vector& costs_;
  bool together_;
  SparseMatrix of_rows_;
  SparseMatrix of_columns_;
  Side rows_;
  Side columns_;
};

std::vector<Index> counted_up(Index n) {
  std::vector<Index> nodes(static_cast<std::size_t>(n));
  std::iota(nodes.begin(), nodes.end(), Index{0});
  return nodes;
}

}  // namespace

Ordering anneal_hops(const Entries& entries,
                     const Ordering& start,
                     const Vector& costs,
                     bool together,
                     std::uint64_t seed,
                     const RunControl& control) {
  const StopScope scope(control, "chord");
  Ordering begin = start;
  if (start.is_natural()) begin = {counted_up(costs.size()), counted_up(costs.size())};
  HopAnnealing annealing(entries, begin, costs, together);
  annealing.run(seed, control);
  Ordering end = annealing.result();
  return hop_cost(entries, end, costs) < hop_cost(entries, begin, costs) ? end : begin;
}

// --------------------------------------------------------------------- Orderings of one matrix

Orderings::Orderings(const LinearOperator& A,
                     bool symmetric,
                     std::uint64_t seed,
                     const RunControl& control,
                     KnownOrderings known)
    : A_(A), symmetric_(symmetric), seed_(seed), control_(control), known_(std::move(known)) {}

const Entries& Orderings::entries() {
  if (!entries_) entries_ = largest_entries(A_, control_);
  return *entries_;
}

std::shared_ptr<const Ordering> Orderings::of(ChordOrder kind,
                                              const ChordPattern& pattern,
                                              bool symmetrized) {
  const auto found = std::find_if(
      known_.begin(), known_.end(), [&](const auto& known) { return known.first == kind; });
  if (found != known_.end()) return found->second;
  auto fresh = std::make_shared<const Ordering>(computed(kind, pattern, symmetrized));
  known_.emplace_back(kind, fresh);
  return fresh;
}

Index Orderings::shift(const ChordPattern& pattern) {
  return best_shift(entries().by_distance, hop_costs(pattern, false));
}

Ordering Orderings::computed(ChordOrder kind, const ChordPattern& pattern, bool symmetrized) {
  if (kind == ChordOrder::kRcm) {
    std::vector<Index> nodes = reverse_cuthill_mckee(joined(entries()));
    return {nodes, nodes};
  }
  if (kind == ChordOrder::kSpectral) {
    std::vector<Index> nodes = spectral_order(joined(entries()), control_);
    return {nodes, nodes};
  }
  const Vector costs = hop_costs(pattern, symmetrized || symmetric_);
  std::vector<Ordering> starts{{}};
  for (const ChordOrder start : {ChordOrder::kRcm, ChordOrder::kSpectral})
    starts.push_back(*of(start, pattern, symmetrized));
  const auto best =
      std::min_element(starts.begin(), starts.end(), [&](const Ordering& a, const Ordering& b) {
        return hop_cost(entries(), a, costs) < hop_cost(entries(), b, costs);
      });
  return anneal_hops(entries(), *best, costs, symmetric_, seed_, control_);
}

}  // namespace matapprox::node_order
