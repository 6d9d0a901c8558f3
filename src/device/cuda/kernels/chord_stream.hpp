#pragma once

#include <algorithm>

#include "chord_chain.hpp"

namespace matapprox::cuda {

/// Computes the rows first .. first+rows-1 of Y = W X for one factor W in the host's layout. If
/// `transposed`, adds link `link` of those rows to Y: no two of them reach the same row of Y.
template <class T>
struct ChordRows {
  static constexpr int kThreads = 256;

  const T* values = nullptr;  ///< rows x links, row-major
  const Index* offsets = nullptr;
  Index links = 0;
  Index order = 0;
  Index first = 0;
  Index rows = 0;
  Index columns = 0;
  const T* x = nullptr;
  T* y = nullptr;
  bool transposed = false;
  Index link = 0;

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= rows * columns) return;
    const Index r = t / columns;
    const Index c = t - r * columns;
    const Index i = first + r;
    if (transposed) {
      const auto j = wrapped<Index>(i, offsets[link], order);
      y[j * columns + c] += values[r * links + link] * x[i * columns + c];
      return;
    }
    T sum = 0;
    for (Index k = 0; k < links; ++k)
      sum += values[r * links + k] * x[wrapped<Index>(i, offsets[k], order) * columns + c];
    y[i * columns + c] = sum;
  }
};

/// Products with a chain whose values stay on the host, in its layout, because the GPU has no room
/// for them. Each product streams them through the GPU once, one piece of rows at a time; the
/// bandwidth of the bus determines the run time. Memory of the GPU: two n x b blocks and a piece.
template <class T, class Queue>
class StreamedChord {
 public:
  /// A piece has at most `piece_numbers` values, but at least one row.
  StreamedChord(const Queue& queue, ChordShape shape, Index piece_numbers)
      : queue_(queue),
        shape_(std::move(shape)),
        piece_(queue.template array<T>(std::max(piece_numbers, shape_.max_links()))),
        offsets_(queue.template array<Index>(shape_.max_links())) {}

  /// Like ChordChain::apply, with `values` on the host.
  T* apply(const T* values, T* x, T* spare, Index columns, bool transposed) const {
    const Index count = shape_.factors();
    for (Index step = 0; step < count; ++step) {
      const Index m = transposed ? step : count - 1 - step;
      multiply(m, values + shape_.first_value(m), x, spare, columns, transposed);
      std::swap(x, spare);
    }
    return x;
  }

 private:
  void multiply(Index m, const T* values, const T* x, T* y, Index columns, bool transposed) const {
    const auto& offsets = shape_.offsets[static_cast<std::size_t>(m)];
    const Index links = shape_.links(m);
    const Index max_rows = piece_.size() / links;
    queue_.upload(offsets.data(), links, offsets_.data());
    queue_.zero(y, shape_.order * columns);
    for (Index first = 0; first < shape_.order; first += max_rows) {
      const Index rows = std::min(max_rows, shape_.order - first);
      queue_.upload(values + first * links, rows * links, piece_.data());
      ChordRows<T> kernel;
      kernel.values = piece_.data();
      kernel.offsets = offsets_.data();
      kernel.links = links;
      kernel.order = shape_.order;
      kernel.first = first;
      kernel.rows = rows;
      kernel.columns = columns;
      kernel.x = x;
      kernel.y = y;
      kernel.transposed = transposed;
      const Index passes = transposed ? links : 1;
      for (Index link = 0; link < passes; ++link) {
        kernel.link = link;
        queue_.run(kernel);
      }
    }
  }

  const Queue& queue_;
  ChordShape shape_;
  // Buffers of the products, which run one after the other.
  mutable decltype(std::declval<const Queue&>().template array<T>(1)) piece_;
  mutable decltype(std::declval<const Queue&>().template array<Index>(1)) offsets_;
};

}  // namespace matapprox::cuda
