#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Where the entries of a chain of sparse N x N factors W_1 ... W_M are: row i of factor m holds
/// one value at column (i + offsets[m][k]) mod N for every k. [KYCY22, Sec. 3]
/// Offsets are distinct mod N within a factor; the factors need not agree in them or in number.
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
  /// factor, each has a link, and offsets are in 0..N-1 and distinct.
  void validate() const;
  bool operator==(const ChordPattern&) const = default;
};

/// ceil(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the paper's public code;
/// reaches every distance. n >= 1 (n = 1: one factor, one link).
ChordPattern chord_reference_pattern(Index n);
/// ceil(log2 n) factors with links 0, 2^0 .. 2^(K-2), K = ceil(log2 n): the paper's text. Differs
/// from the reference only where n is a power of two, and then misses the distance n - 1.
ChordPattern chord_paper_pattern(Index n);
/// floor(log2 n) factors with links 0, 2^0 .. 2^(floor(log2 n) - 1): the paper's attention module.
/// Misses distances unless n is a power of two (n = 2000: 4 of 2000).
ChordPattern chord_torch_pattern(Index n);
/// The links of the reference pattern with signs that alternate: factor m, from 1 on, has +o for
/// odd m and -o mod n for even m. The same numbers and work, every distance is reached, and a small
/// distance of either sign by many paths, where links that all lead forward reach -1 by nearly all
/// hops only.
ChordPattern chord_alternating_pattern(Index n);
/// The links of each even factor (the second, fourth, ...) become -o mod n.
void alternate_signs(ChordPattern& pattern);
/// A few wide factors with `links` links a row in all: three where that is enough, of about equal
/// widths k = links / 3, with strides 1, ceil(n / k), 1 (local, strided, local), or, where these
/// cannot reach every distance, with strides in geometric progression; more or fewer factors where
/// three do not do. Local links are centered on 0. Reaches every distance. Throws InvalidArgument
/// if so few links reach no pattern.
ChordPattern chord_mixed_radix_pattern(Index n, Index links);
/// The distances (column - row) mod N that no product of one link per factor reaches: those
/// diagonals of the product are zero whatever the values. Ascending. Cost O(N M K).
std::vector<Index> unreachable_distances(const ChordPattern& pattern);
/// The same for people, the first three and how many there are; empty if there are none.
std::string unreachable_text(const ChordPattern& pattern);

}  // namespace matapprox
