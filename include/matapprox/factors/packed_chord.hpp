#pragma once

#include <span>

#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/factors/packed_matrix.hpp"

namespace matapprox {

/// A Chord chain W_1 ... W_M of order N in a few bits per value, multiplied in packed form. Each
/// link of each factor is a column of an N x L packed matrix, L = sum of links, factor after
/// factor: entry (i, l) is W_m[i, (i + offset) mod N] of the l-th of all links. 64 rows of a link
/// share a scale, so that an 8-bit value takes 8.5 bits.
///
/// A product with one vector reads the bytes once and takes N L multiplications. Only segments of
/// 1024 rows of a factor are unpacked at a time. Results are bit-identical for any number of
/// threads.
class PackedChord {
 public:
  /// Throws InvalidArgument if the pattern is invalid or the values are not N x L.
  PackedChord(ChordPattern pattern, PackedMatrix values);
  /// Returns the chain rounded to `bits` bits per value, 1 to 16. Throws InvalidArgument for other
  /// widths or a value that is not finite.
  static PackedChord rounded(const ChordFactors& chain, int bits);

  const ChordPattern& pattern() const { return pattern_; }
  const PackedMatrix& values() const { return values_; }
  Index rows() const { return pattern_.order; }
  Index cols() const { return pattern_.order; }
  /// Number of values, and bytes including 8 for each offset and each number of links.
  Storage storage() const;

  Matrix apply(const ConstBlock& X) const;            ///< A X
  Matrix apply_transpose(const ConstBlock& X) const;  ///< A^T X
  ChordFactors unpacked() const;                      ///< the chain in doubles

 private:
  Matrix multiply(Index factor, const Matrix& X) const;
  Matrix multiply_transpose(Index factor, const Matrix& X) const;

  ChordPattern pattern_;
  PackedMatrix values_;
  std::vector<Index> first_links_;  ///< first column of each factor in values_
};

}  // namespace matapprox
