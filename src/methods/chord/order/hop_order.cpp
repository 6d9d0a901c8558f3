#include "methods/chord/order/hop_order.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "matapprox/core/random.hpp"
#include "matapprox/core/stop_scope.hpp"

namespace matapprox::chord_fit {
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

}  // namespace matapprox::chord_fit
