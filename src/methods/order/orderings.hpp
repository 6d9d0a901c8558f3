#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/methods/chord.hpp"
#include "methods/order/graph_order.hpp"

namespace matapprox::node_order {

/// The row and the column of A at each place of the fitted matrix: T(p, q) = A(rows[p],
/// columns[q]). Both are empty for A as it is.
struct Ordering {
  std::vector<Index> rows;
  std::vector<Index> columns;

  bool is_natural() const { return rows.empty(); }
  /// True if it leaves A unchanged.
  bool is_identity() const {
    return std::is_sorted(rows.begin(), rows.end()) &&
           std::is_sorted(columns.begin(), columns.end());
  }
  /// Stored numbers: one permutation, if rows and columns share it, or two.
  Index stored_numbers() const {
    const auto n = static_cast<Index>(rows.size());
    return rows == columns ? n : 2 * n;
  }
  bool operator==(const Ordering&) const = default;
};

/// Returns the place of each node; empty if there are none.
inline std::vector<Index> inverse_of(const std::vector<Index>& nodes) {
  std::vector<Index> places(nodes.size());
  for (std::size_t p = 0; p < nodes.size(); ++p)
    places[static_cast<std::size_t>(nodes[p])] = static_cast<Index>(p);
  return places;
}

// ----------------------------------------------------------------------------------- Hop costs

/// Returns the cost of an entry of a chain at each distance d = (column - row) mod N: c(d) = -log
/// p(d), scaled to 0 .. 1, where p(d) counts the ways to reach d by one link of each factor; 20 if
/// there is none. For a symmetrized chain, p(d) + p(-d) is used. Cost O(N sum of links).
Vector hop_costs(const ChordPattern& pattern, bool symmetrized);

/// Returns the sum of |a_ij| c(d) over the entries, d the distance between the places of i and j in
/// `ordering`.
double hop_cost(const Entries& entries, const Ordering& ordering, const Vector& costs);

/// Returns the shift of all links of the last factor that minimizes the hop cost: the smallest t
/// that minimizes the sum over d of by_distance(d) c(d - t). `by_distance`: the sum of |a_ij| at
/// each distance. Cost O(N log N).
Index best_shift(const Vector& by_distance, const Vector& costs);

// ----------------------------------------------------------------------------------- Annealing

/// Computes an ordering of small hop cost by simulated annealing from `start`. A proposal swaps two
/// rows or two columns, with `together` both alike, at a place distance exp(U ln(N/2)). There are
/// 5000 N proposals, or fewer if these would take more than a few seconds, which is counted, not
/// timed. The temperature falls geometrically from 0.003 sum|a| / N, which preserves the good parts
/// of the start, to a thousandth of that. The seed determines the result. Returns `start` unless
/// the end has a smaller hop cost. Throws Interrupted.
Ordering anneal_hops(const Entries& entries,
                     const Ordering& start,
                     const Vector& costs,
                     bool together,
                     std::uint64_t seed,
                     const RunControl& control);

// --------------------------------------------------------------------- Orderings of one matrix

/// Orderings computed so far, so that a resumed fit has the same ones.
using KnownOrderings = std::vector<std::pair<ChordOrder, std::shared_ptr<const Ordering>>>;

/// The orderings of one matrix, each computed on first use and then stored. A symmetric matrix has
/// one permutation for rows and columns. So do rcm and spectral for every matrix, because they
/// order the graph of |A| + |A|^T.
class Orderings {
 public:
  /// A and control must outlive this.
  Orderings(const LinearOperator& A,
            bool symmetric,
            std::uint64_t seed,
            const RunControl& control,
            KnownOrderings known);

  /// Returns the ordering kRcm, kSpectral or kHop; `pattern` and `symmetrized` define the hop
  /// costs. Throws Interrupted.
  std::shared_ptr<const Ordering> of(ChordOrder kind,
                                     const ChordPattern& pattern,
                                     bool symmetrized);
  /// Returns best_shift for that pattern.
  Index shift(const ChordPattern& pattern);
  /// True if A has few nonzeros.
  bool is_sparse() { return entries().sparse; }
  bool is_quick() const { return is_quick_to_read(A_); }
  const KnownOrderings& known() const { return known_; }

 private:
  const Entries& entries();
  Ordering computed(ChordOrder kind, const ChordPattern& pattern, bool symmetrized);

  const LinearOperator& A_;
  bool symmetric_;
  std::uint64_t seed_;
  const RunControl& control_;
  KnownOrderings known_;
  std::optional<Entries> entries_;
};

}  // namespace matapprox::node_order
