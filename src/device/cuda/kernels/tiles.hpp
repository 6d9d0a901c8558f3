#pragma once

#include <cstdint>
#include <type_traits>

#include "chord_product.hpp"

namespace matapprox::cuda {

// Tokens of a batch: the rows of all samples one after the other, row-major, all samples of the
// same length. A mask has one byte per row, 0 for padding; if null, all rows are tokens.

MATAPPROX_HD inline bool is_token(const std::uint8_t* mask, Index row) {
  return mask == nullptr || mask[row] != 0;
}

/// Calls op.template piece<kWidth>(row, column) for each piece of kWidth contiguous columns.
template <class Op, int kWidth>
struct ForEachPiece {
  static constexpr int kThreads = RowTiles::kThreads;
  Op op;
  RowTiles tiles;

  Index blocks() const { return tiles.blocks(); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    Index row = 0;
    Index lane = 0;
    if (tiles.find(place, row, lane)) op.template piece<kWidth>(row, lane * kWidth);
  }
};

/// Calls function(std::integral_constant<int, width>) for the widest pieces in which rows of
/// `columns` numbers can be read.
template <class T, class Function>
void with_width(Index columns, const Function& function) {
  switch (widest<T>(columns)) {
    case 4:
      function(std::integral_constant<int, 4>{});
      break;
    case 2:
      function(std::integral_constant<int, 2>{});
      break;
    default:
      function(std::integral_constant<int, 1>{});
  }
}

/// Runs the operation on a block of rows x columns numbers without gaps that starts at the
/// beginning of an array of the queue.
template <class T, class Queue, class Op>
void for_each_piece(const Queue& queue, Index rows, Index columns, const Op& op) {
  if (rows == 0 || columns == 0) return;
  with_width<T>(columns, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    queue.run(ForEachPiece<Op, kWidth>{op, RowTiles::of(rows, columns, kWidth)});
  });
}

}  // namespace matapprox::cuda
