#pragma once

#include "device/cuda/kernels/tiles.hpp"

namespace matapprox::cuda {

/// One sparse factor for each sample of a batch: entry (i, k) of a sample's factor is in column (i
/// + offsets[k]) mod N. Row r of the batch is row r mod N of sample r / N. Values are stored link
/// after link over all rows, values[k * rows + r], without the bias of the network that computes
/// them. The network's second layer is therefore one product of matrices, and neighboring threads
/// read neighboring numbers. Rows of padding are those of the identity. [KYCY22, Sec. 4]
template <class T>
struct PsfFactor {
  int rows = 0;  ///< rows of all samples, at most 2^30
  int length = 0;
  int links = 0;
  std::int32_t offsets[kMaxLinks] = {};  ///< each in 0..length-1, the first of them 0
  const T* values = nullptr;
  const T* bias = nullptr;             ///< a number for each link
  const std::uint8_t* mask = nullptr;  ///< a byte for each row, or null

  MATAPPROX_HD T at(int link, int row) const {
    if (!is_token(mask, row)) return link == 0 ? T(1) : T(0);
    return values[static_cast<Index>(link) * rows + row] + bias[link];
  }
  MATAPPROX_HD int first_row_of_sample(int row) const { return row - row % length; }
};

/// Y = W X (+ add) or, transposed, Y = W^T X and sum += X. Rows have no gaps. Each thread computes
/// kWidth columns of a row.
template <class T, int kWidth, bool kTransposed>
struct PsfProduct {
  static constexpr int kThreads = RowTiles::kThreads;

  PsfFactor<T> factor;
  const T* x = nullptr;
  T* y = nullptr;
  const T* add = nullptr;  ///< V0 of the product, or null
  T* sum = nullptr;        ///< gradient of V0 in the transposed product, or null
  Index columns = 0;
  RowTiles tiles;

  Index blocks() const { return tiles.blocks(); }

  MATAPPROX_HD void operator()(GridPosition place) const {
    Index row = 0;
    Index lane = 0;
    if (!tiles.find(place, row, lane)) return;
    const Index column = lane * kWidth;
    const Index own_at = row * columns + column;
    const auto own = static_cast<int>(row);
    const int first = factor.first_row_of_sample(own);
    const int i = own - first;
    Numbers<T, kWidth> result{};
    for (int k = 0; k < factor.links; ++k) {
      const int offset = factor.offsets[k];
      const int step = !kTransposed || offset == 0 ? offset : factor.length - offset;
      const int j = first + wrapped<int>(i, step, factor.length);
      const T w = factor.at(k, kTransposed ? j : own);
      const auto v = load_numbers<T, kWidth>(x + (j * columns + column));
      for (int c = 0; c < kWidth; ++c) result.values[c] += w * v.values[c];
    }
    if (add != nullptr) {
      const auto v = load_numbers<T, kWidth>(add + own_at);
      for (int c = 0; c < kWidth; ++c) result.values[c] += v.values[c];
    }
    store_numbers(result, y + own_at);
    if (sum == nullptr) return;
    auto total = load_numbers<T, kWidth>(sum + own_at);
    const auto v = load_numbers<T, kWidth>(x + own_at);
    for (int c = 0; c < kWidth; ++c) total.values[c] += v.values[c];
    store_numbers(total, sum + own_at);
  }
};

/// gradient[k * rows + r] = <G_r, X_j>, where j is the row to which link k of row r leads; 0 in
/// rows of padding. kLanes threads share a row: each processes every kLanes-th piece of kWidth
/// columns, and their sums are added in order.
template <class T, int kWidth, int kLanes>
struct PsfWeightGradient {
  static constexpr int kThreads = 256;
  static constexpr int kLinks = 8;
  static constexpr int kRows = kThreads / kLanes;
  // One more than lanes, so that no two rows are in the same banks.
  static constexpr auto kPadded = static_cast<std::size_t>(kLanes > 1 ? kLanes + 1 : 1);
  static constexpr auto kParts = static_cast<std::size_t>(kRows) * static_cast<std::size_t>(kLinks);

  PsfFactor<T> factor;  ///< its values are not read
  const T* g = nullptr;
  const T* x = nullptr;
  T* gradient = nullptr;
  Index columns = 0;

  struct SharedMemory {
    T parts[kParts][kPadded];
  };
  struct Registers {};

  Index blocks() const { return ceil_div(factor.rows, kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return (factor.links + kLinks - 1) / kLinks; }

  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    const int row = place.thread / kLanes;
    const int lane = place.thread - row * kLanes;
    const Index r = place.block * kRows + row;
    if (r >= factor.rows) return;
    const auto own = static_cast<int>(r);
    const int first = factor.first_row_of_sample(own);
    T sums[kLinks] = {};
    for (Index c = static_cast<Index>(lane) * kWidth; c < columns; c += Index{kLanes} * kWidth) {
      const auto a = load_numbers<T, kWidth>(g + (r * columns + c));
      for (int k = 0; k < kLinks; ++k) {
        if (step * kLinks + k >= factor.links) continue;
        const int offset = factor.offsets[step * kLinks + k];
        const int j = first + wrapped<int>(own - first, offset, factor.length);
        const auto b = load_numbers<T, kWidth>(x + (j * columns + c));
        for (int w = 0; w < kWidth; ++w) sums[k] += a.values[w] * b.values[w];
      }
    }
    for (int k = 0; k < kLinks; ++k) shared.parts[k * kRows + row][lane] = sums[k];
  }

  /// Neighboring threads write neighboring rows of a link.
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers&) const {
    for (int t = place.thread; t < kRows * kLinks; t += kThreads) {
      const int link = step * kLinks + t / kRows;
      const Index r = place.block * kRows + t % kRows;
      if (r >= factor.rows || link >= factor.links) continue;
      T sum = shared.parts[t][0];
      for (int lane = 1; lane < kLanes; ++lane) sum += shared.parts[t][lane];
      gradient[static_cast<Index>(link) * factor.rows + r] = is_token(factor.mask, r) ? sum : T(0);
    }
  }
};

/// Y = W X (+ add). Blocks are rows x columns. X and Y must not overlap.
template <class T, class Queue>
void psf_product(
    const Queue& queue, const PsfFactor<T>& factor, const T* x, const T* add, T* y, Index columns) {
  with_width<T>(columns, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    queue.run(PsfProduct<T, kWidth, false>{
        factor, x, y, add, nullptr, columns, RowTiles::of(factor.rows, columns, kWidth)});
  });
}

/// Y = W^T G, and sum += G unless sum is null.
template <class T, class Queue>
void psf_product_transposed(
    const Queue& queue, const PsfFactor<T>& factor, const T* g, T* sum, T* y, Index columns) {
  with_width<T>(columns, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    queue.run(PsfProduct<T, kWidth, true>{
        factor, g, y, nullptr, sum, columns, RowTiles::of(factor.rows, columns, kWidth)});
  });
}

/// Computes the derivative with respect to the entries of W of a function whose derivative with
/// respect to W X is G.
template <class T, class Queue>
void psf_weight_gradient(const Queue& queue,
                         const PsfFactor<T>& factor,
                         const T* g,
                         const T* x,
                         T* gradient,
                         Index columns) {
  with_width<T>(columns, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const auto run = [&](auto lanes) {
      queue.run(
          PsfWeightGradient<T, kWidth, decltype(lanes)::value>{factor, g, x, gradient, columns});
    };
    const Index pieces = columns / kWidth;
    if (pieces == 1) {
      run(std::integral_constant<int, 1>{});
    } else if (pieces < 4) {
      run(std::integral_constant<int, 2>{});
    } else if (pieces < 8) {
      run(std::integral_constant<int, 4>{});
    } else {
      run(std::integral_constant<int, 8>{});
    }
  });
}

}  // namespace matapprox::cuda
