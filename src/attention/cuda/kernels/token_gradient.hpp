#pragma once

#include <algorithm>
#include <vector>

#include "device/cuda/kernels/reductions.hpp"
#include "device/cuda/kernels/tiles.hpp"

namespace matapprox::cuda {

/// The rows of a batch sorted by token id, in pieces of at most kMaxRows rows of one id. The
/// gradient of a table of vectors is then two sums in a fixed order and needs no atomics. Rows of
/// padding are left out.
struct TokenOrder {
  static constexpr Index kMaxRows = 256;
  std::vector<std::int32_t> rows;         ///< sorted by id, then by number
  std::vector<std::int32_t> piece_begin;  ///< positions in `rows`, one more than pieces
  std::vector<std::int32_t> first_piece;  ///< first piece of each id, one more than ids

  Index pieces() const { return static_cast<Index>(piece_begin.size()) - 1; }
  /// Largest number of pieces that `rows` rows can have.
  static Index max_pieces(Index rows, Index vocabulary) { return rows / kMaxRows + vocabulary; }
};

/// Sorts the rows of a batch in O(rows + vocabulary) time and memory. Ids are in 0..vocabulary-1.
/// The mask is null or has a byte per row.
inline TokenOrder order_tokens(const std::int32_t* tokens,
                               const std::uint8_t* mask,
                               Index rows,
                               Index vocabulary) {
  TokenOrder order;
  std::vector<std::int32_t> next(static_cast<std::size_t>(vocabulary) + 1);
  const auto own = [&](Index row) { return static_cast<std::size_t>(tokens[row]); };
  for (Index row = 0; row < rows; ++row) {
    if (is_token(mask, row)) ++next[own(row) + 1];
  }
  for (std::size_t id = 1; id < next.size(); ++id) next[id] += next[id - 1];
  const std::vector<std::int32_t> begins = next;
  order.rows.resize(static_cast<std::size_t>(begins.back()));
  for (Index row = 0; row < rows; ++row) {
    if (!is_token(mask, row)) continue;
    order.rows[static_cast<std::size_t>(next[own(row)]++)] = static_cast<std::int32_t>(row);
  }
  for (std::size_t id = 0; id + 1 < begins.size(); ++id) {
    order.first_piece.push_back(static_cast<std::int32_t>(order.piece_begin.size()));
    for (Index at = begins[id]; at < begins[id + 1]; at += TokenOrder::kMaxRows)
      order.piece_begin.push_back(static_cast<std::int32_t>(at));
  }
  order.first_piece.push_back(static_cast<std::int32_t>(order.piece_begin.size()));
  order.piece_begin.push_back(begins.back());
  return order;
}

/// Sets to[p] to the sum of the rows from[list[i]] for i in begin[p] .. begin[p + 1] - 1; a null
/// list means list[i] = i. Runs in for_each_piece over the rows of `to`.
template <class T>
struct SumOfRows {
  const T* from = nullptr;
  const std::int32_t* list = nullptr;
  const std::int32_t* begin = nullptr;
  T* to = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    Numbers<T, kWidth> sum{};
    for (std::int32_t i = begin[row]; i < begin[row + 1]; ++i) {
      const Index at = list == nullptr ? i : list[i];
      const auto v = load_numbers<T, kWidth>(from + (at * columns + column));
      for (int c = 0; c < kWidth; ++c) sum.values[c] += v.values[c];
    }
    for (int c = 0; c < kWidth; ++c) to[row * columns + column + c] = sum.values[c];
  }
};

/// A TokenOrder in the memory of a queue.
template <class Queue>
class TokenOrderOnQueue {
 public:
  TokenOrderOnQueue(const Queue& queue, Index rows, Index vocabulary)
      : queue_(&queue),
        vocabulary_(vocabulary),
        rows_(queue.template array<std::int32_t>(rows)),
        piece_begin_(
            queue.template array<std::int32_t>(TokenOrder::max_pieces(rows, vocabulary) + 1)),
        first_piece_(queue.template array<std::int32_t>(vocabulary + 1)) {}

  Index vocabulary() const { return vocabulary_; }
  void upload(const TokenOrder& order) {
    pieces_ = order.pieces();
    send(order.rows, rows_);
    send(order.piece_begin, piece_begin_);
    send(order.first_piece, first_piece_);
  }
  /// gradient[id] = the sum of the rows of dX (rows x columns) whose token is `id`, for each id.
  template <class T>
  void gradient(Scratch<T, Queue>& scratch, const T* dx, Index columns, T* gradient) const {
    // Sized for the largest number of pieces, so that memory does not depend on the tokens.
    T* sums = scratch.take(TokenOrder::max_pieces(rows_.size(), vocabulary_) * columns);
    const SumOfRows<T> of_pieces{dx, rows_.data(), piece_begin_.data(), sums, columns};
    for_each_piece<T>(*queue_, pieces_, columns, of_pieces);
    const SumOfRows<T> of_ids{sums, nullptr, first_piece_.data(), gradient, columns};
    for_each_piece<T>(*queue_, vocabulary_, columns, of_ids);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<std::int32_t>(0));
  void send(const std::vector<std::int32_t>& from, Array& to) const {
    queue_->upload(from.data(), static_cast<Index>(from.size()), to.data());
  }

  const Queue* queue_;
  Index vocabulary_;
  Index pieces_ = 0;
  Array rows_;
  Array piece_begin_;
  Array first_piece_;
};

}  // namespace matapprox::cuda
