#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Positions of the entries of a chain of sparse N x N factors W_1 ... W_M: row i of factor m has
/// one value at column (i + offsets[m][k]) mod N for every k. [KYCY22, Sec. 3] Offsets are distinct
/// mod N within a factor; factors may have different offsets and different numbers of them.
struct ChordPattern {
  Index order = 0;                          ///< N
  std::vector<std::vector<Index>> offsets;  ///< per factor, each in 0..N-1

  Index factors() const { return static_cast<Index>(offsets.size()); }
  Index links(Index m) const {
    return static_cast<Index>(offsets[static_cast<std::size_t>(m)].size());
  }
  Index stored_numbers() const;      ///< N * sum of links
  Index first_value(Index m) const;  ///< position of factor m in the flat block of values
  /// Throws InvalidArgument, naming factor and offset, unless order >= 1, there is at least one
  /// factor, each factor has a link, and offsets are in 0..N-1 and distinct.
  void validate() const;
  bool operator==(const ChordPattern&) const = default;
};

/// ceil(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the pattern of the paper's
/// public code. Reaches every distance. n >= 1 (n = 1: one factor, one link).
ChordPattern chord_reference_pattern(Index n);
/// ceil(log2 n) factors with links 0, 2^0 .. 2^(K-2), K = ceil(log2 n): the pattern of the paper's
/// text. Differs from the reference only if n is a power of two: it then misses the distance n - 1.
ChordPattern chord_paper_pattern(Index n);
/// floor(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the pattern of the paper's
/// attention module. Misses distances unless n is a power of two (n = 2000: 4 of 2000).
ChordPattern chord_torch_pattern(Index n);
/// The links of the reference pattern with alternating signs: factor m, counted from 1, has +o for
/// odd m and -o mod n for even m. Storage and work are the same, and every distance is reached. A
/// small distance of either sign is reached by many paths, whereas links that all lead forward
/// reach -1 only by nearly all hops.
ChordPattern chord_alternating_pattern(Index n);
/// Replaces each link o of each even factor (the second, fourth, ...) by -o mod n.
void alternate_signs(ChordPattern& pattern);
/// A few wide factors with `links` links per row in total. If three factors suffice, they have
/// about equal widths k = links / 3 and strides 1, ceil(n / k), 1 (local, strided, local), or, if
/// these cannot reach every distance, strides in geometric progression; otherwise there are more or
/// fewer factors. Local links are centered on 0. Reaches every distance. Throws InvalidArgument if
/// no pattern with so few links does.
ChordPattern chord_mixed_radix_pattern(Index n, Index links);
/// Returns the distances (column - row) mod N that no product of one link per factor reaches,
/// ascending: these diagonals of the product are zero for any values. Cost O(N M K).
std::vector<Index> unreachable_distances(const ChordPattern& pattern);
/// The same as text for messages: the first three distances and their number; empty if there are
/// none.
std::string unreachable_text(const ChordPattern& pattern);

}  // namespace matapprox
