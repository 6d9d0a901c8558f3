#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "kernels/chord_simd.hpp"
#include "matapprox/kernels/chord_pattern.hpp"
#include "mpi/link_halo.hpp"

namespace matapprox::mpi {

/// Where the factors of a Chord chain lie: each process has its rows of each factor, in the layout
/// of ChordFactors with only these rows. Values and gradients are the caller's.
class SpreadChain {
 public:
  using Factor = kernels::simd::ChordFactor<double>;

  /// `rows` deals those of each factor. Allocates.
  SpreadChain(const Process& process, const Layout& rows, ChordPattern pattern);

  const ChordPattern& pattern() const { return pattern_; }
  Index factors() const { return pattern_.factors(); }
  Index links(Index m) const { return pattern_.links(m); }
  Index max_links() const;
  /// This process's rows are first() .. last() - 1.
  Index first() const { return first_; }
  Index last() const { return last_; }
  /// Position of this process's rows of factor m among its values; of their end for m = factors().
  Index first_value(Index m) const;

  // Of factor m as the kernels take it, or of its transpose: only this process's rows of it may be
  // asked for. `values`: of these rows of W_m, or of W_m^T as transpose() makes them.

  Factor factor(Index m, bool transposed, const double* values) const;
  /// Brings the rows of a panel of all N rows that the product needs beside this process's.
  void bring(const Process& process, Index m, bool transposed, Index width, double* panel) const;
  /// The same for a vector that is held twice, one copy after the other.
  void bring_twice(const Process& process, Index m, bool transposed, double* x) const;
  /// What transpose() sends and receives.
  struct Buffers {
    std::vector<double> sent;
    std::vector<double> received;
  };
  /// As long as any factor needs them.
  Buffers buffers() const;
  /// Entry k of row j of `result` is W_m[(j - offset k) mod N, k].
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
  /// Values of one link that go to another process or come from there: of rows first .. first +
  /// count - 1 of the factor that they are of, or that they go into.
  struct Values {
    int process = 0;
    Index link = 0;
    Index first = 0;
    Index count = 0;
  };
  /// What transpose() moves, by process; and what stays here.
  struct Moves {
    std::vector<Values> sent;
    std::vector<Values> received;
    std::vector<std::pair<Index, LinkedRows>> kept;  ///< link, rows of the transpose and of W_m
  };

  Moves moves_of(const Layout& rows, int process, Index m) const;

  ChordPattern pattern_;
  Index first_;
  Index last_;
  std::vector<Side> sides_[2];
  std::vector<Moves> moves_;
};

/// The leader's pattern to all.
ChordPattern broadcast_pattern(const Process& process, const ChordPattern* pattern);

/// Rows of the factors of a chain as `rows` deals them: the layout of its values.
Layout chain_layout(const Layout& rows, const ChordPattern& pattern);

}  // namespace matapprox::mpi
