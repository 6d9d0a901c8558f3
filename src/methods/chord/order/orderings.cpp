#include "methods/chord/order/orderings.hpp"

#include <algorithm>

#include "methods/chord/order/graph_order.hpp"
#include "methods/chord/order/hop_order.hpp"

namespace matapprox::chord_fit {

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

}  // namespace matapprox::chord_fit
