#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

// The entries of a matrix with few different values, as positions in an ascending list of them, by
// adaptive arithmetic coding: without loss, as lossless formats of images have it.

namespace matapprox::positions {

/// The stored entries of a matrix, column by column: all, or those with row <= column.
struct Shape {
  Index rows = 0;
  Index cols = 0;
  bool symmetric = false;
  Index values = 0;  ///< length of the list, 2 to 2^16

  Index entries_of(Index column) const { return symmetric ? column + 1 : rows; }
  Index entries_before(Index column) const {
    return symmetric ? column * (column + 1) / 2 : column * rows;
  }
};

/// Consecutive columns that are coded by themselves.
struct Stream {
  Index first = 0;
  Index end = 0;
};

/// Divides the columns into streams, so that several threads can work.
std::vector<Stream> streams_of(const Shape& shape);

/// The bytes of the entries of a stream, at least one for kMaxEntriesPerByte entries, so that a
/// small file cannot stand for a large matrix. Takes about 0.2 us for an entry.
std::vector<std::uint8_t> encode(const Shape& shape,
                                 const Stream& stream,
                                 std::span<const std::uint16_t> entries);
inline constexpr Index kMaxEntriesPerByte = 128;

/// Any bytes decode to some entries below shape.values.
std::vector<std::uint16_t> decode(const Shape& shape,
                                  const Stream& stream,
                                  std::span<const std::uint8_t> bytes);

}  // namespace matapprox::positions
