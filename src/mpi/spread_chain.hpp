#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "kernels/chord_simd.hpp"
#include "matapprox/kernels/chord.hpp"
#include "mpi/link_halo.hpp"

namespace matapprox::mpi {

/// The distribution of the factors of a Chord chain: each process has its rows of each factor, in
/// the layout of ChordFactors with only these rows. Values and gradients belong to the caller.
class SpreadChain {
 public:
  using Factor = kernels::simd::ChordFactor<double>;

  /// `rows`: layout of the rows of each factor. Allocates.
  SpreadChain(const Process& process, const Layout& rows, ChordPattern pattern);

  const ChordPattern& pattern() const { return pattern_; }
  Index factors() const { return pattern_.factors(); }
  Index links(Index m) const { return pattern_.links(m); }
  Index max_links() const;
  /// This process's rows are first() .. last() - 1.
  Index first() const { return first_; }
  Index last() const { return last_; }
  /// Returns the position of this process's rows of factor m in its values; the end if m =
  /// factors().
  Index first_value(Index m) const;

  // Returns factor m, or its transpose, in the form of the kernels; only this process's rows of it
  // may be accessed. `values`: those of these rows of W_m, or of W_m^T as transpose() computes
  // them.

  Factor factor(Index m, bool transposed, const double* values) const;
  /// Receives the rows of a panel of all N rows that the product needs from other processes.
  void receive_ghosts(
      const Process& process, Index m, bool transposed, Index width, double* panel) const;
  /// The same for a vector that is stored twice, one copy after the other.
  void bring_twice(const Process& process, Index m, bool transposed, double* x) const;
  /// Message buffers of transpose().
  struct Buffers {
    std::vector<double> sent;
    std::vector<double> received;
  };
  /// Returns buffers that are large enough for every factor.
  Buffers buffers() const;
  /// Computes the values of W_m^T: entry k of row j of `result` is W_m[(j - offset k) mod N, k].
  void transpose(const Process& process,
                 Index m,
                 const double* values,
                 double* result,
                 Buffers& buffers) const;

  const LinkHalo& halo(Index m, bool transposed) const {
    return sides_[static_cast<std::size_t>(transposed)][static_cast<std::size_t>(m)].halo;
  }

  /// Calls function(first, last) for this process's rows, on all threads.
  void over_rows(const std::function<void(Index first, Index last)>& function) const;

 private:
  /// A factor or its transpose.
  struct Side {
    std::vector<Index> offsets;
    LinkHalo halo;
  };
  /// Values of one link that are sent to another process or received from it: those of the rows
  /// first .. first + count - 1 of W_m if sent, or of W_m^T if received.
  struct Values {
    int process = 0;
    Index link = 0;
    Index first = 0;
    Index count = 0;
  };
  /// Values that transpose() sends and receives, sorted by process, and those that stay here.
  struct Moves {
    std::vector<Values> sent;
    std::vector<Values> received;
    std::vector<std::pair<Index, LinkedRows>> kept;  ///< link; rows of the transpose and of W_m
  };

  Moves moves_of(const Layout& rows, int process, Index m) const;

  ChordPattern pattern_;
  Index first_;
  Index last_;
  std::vector<Side> sides_[2];
  std::vector<Moves> moves_;
};

/// Sends the leader's pattern to all processes.
ChordPattern broadcast_pattern(const Process& process, const ChordPattern* pattern);

/// Returns the layout of the values of a chain whose factors have their rows distributed as `rows`.
Layout chain_layout(const Layout& rows, const ChordPattern& pattern);

}  // namespace matapprox::mpi
