#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "matapprox/methods/chord.hpp"
#include "methods/chord/order/entries.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

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

}  // namespace matapprox::chord_fit
