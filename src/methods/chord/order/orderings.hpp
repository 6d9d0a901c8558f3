#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "matapprox/methods/chord.hpp"
#include "methods/chord/order/entries.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

/// Orderings that have been computed, so that a fit that goes on has the same ones.
using KnownOrderings = std::vector<std::pair<ChordOrder, std::shared_ptr<const Ordering>>>;

/// The orderings of one matrix, each computed when it is asked for and then kept. A symmetric
/// matrix has one permutation for rows and columns; so have rcm and spectral, which are of the
/// graph of |A| + |A|^T, for every matrix.
class Orderings {
 public:
  /// A and control must outlive this.
  Orderings(const LinearOperator& A,
            bool symmetric,
            std::uint64_t seed,
            const RunControl& control,
            KnownOrderings known);

  /// kRcm, kSpectral or kHop; `pattern` and `symmetrized`: what the hop costs are of. Throws
  /// Interrupted.
  std::shared_ptr<const Ordering> of(ChordOrder kind,
                                     const ChordPattern& pattern,
                                     bool symmetrized);
  /// best_shift for that pattern.
  Index shift(const ChordPattern& pattern);
  /// Whether there are few entries that are not zero.
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

}  // namespace matapprox::chord_fit
