#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "chord_product.hpp"

namespace matapprox::cuda {

/// The positions of the entries of the factors: the library's ChordPattern, without Eigen.
struct ChordShape {
  Index order = 0;
  std::vector<std::vector<Index>> offsets;  ///< one list per factor, offsets in 0..order-1
  bool symmetrized = false;  ///< the objective is that of (P + P^T) / 2, P the product

  Index factors() const { return static_cast<Index>(offsets.size()); }
  Index links(Index m) const {
    return static_cast<Index>(offsets[static_cast<std::size_t>(m)].size());
  }
  Index first_value(Index m) const {
    Index sum = 0;
    for (Index f = 0; f < m; ++f) sum += order * links(f);
    return sum;
  }
  Index stored_numbers() const { return first_value(factors()); }
  Index max_links() const {
    Index most = 0;
    for (Index m = 0; m < factors(); ++m) most = links(m) > most ? links(m) : most;
    return most;
  }
};

/// True if positions in a block of `columns` columns and in a factor's values fit into 32 bits.
inline bool fits_32_bits(const ChordShape& shape, Index columns) {
  const Index most = shape.max_links() > columns ? shape.max_links() : columns;
  return 2 * shape.order <= std::numeric_limits<std::int32_t>::max() &&
         shape.order * most <= std::numeric_limits<std::int32_t>::max();
}

/// Products with the factors of a chain, one after the other. `values` are on the device, factor by
/// factor, each link by link; blocks are row-major, order x columns.
template <class T, class Queue>
class ChordChain {
 public:
  ChordChain(const Queue& queue, ChordShape shape) : queue_(queue), shape_(std::move(shape)) {}

  const ChordShape& shape() const { return shape_; }

  /// Converts numbers between the host's layout (factor m: order x links(m), row-major) and the
  /// device's, in two arrays of the device.
  void to_device_layout(const T* rows, T* values) const { reorder<true>(rows, values); }
  void to_host_layout(const T* values, T* rows) const { reorder<false>(values, rows); }
  /// The same for the numbers of W_m only.
  void factor_to_device_layout(Index m, const T* rows, T* values) const {
    reorder_factor<true>(m, rows, values);
  }

  /// Computes Y = W_m X or W_m^T X.
  void multiply(Index m, const T* values, const T* x, T* y, Index columns, bool transposed) const {
    with_sizes(columns, [&](auto index, auto width) {
      using I = decltype(index);
      constexpr int kWidth = decltype(width)::value;
      ChordProduct<T, I, kWidth> product;
      product.x = x;
      product.y = y;
      product.columns = static_cast<I>(columns);
      product.transposed = transposed;
      product.tiles = product.tiles_of(shape_.order, columns);
      for_links<I>(m, [&](const ChordFactor<T, I>& factor, Index first) {
        product.factor = factor;
        product.factor.values = values + first;
        queue_.run(product);
        product.add = true;
      });
    });
  }

  /// Adds the gradient of <G, W_m X> by the values of W_m, in the layout of the values.
  void add_gradient(Index m, const T* g, const T* x, T* gradient, Index columns) const {
    with_sizes(columns, [&](auto index, auto width) {
      using I = decltype(index);
      constexpr int kWidth = decltype(width)::value;
      const auto run = [&](auto kernel) {
        kernel.g = g;
        kernel.x = x;
        kernel.columns = static_cast<I>(columns);
        for_links<I>(m, [&](const ChordFactor<T, I>& factor, Index first) {
          kernel.factor = factor;
          kernel.gradient = gradient + first;
          queue_.run(kernel);
        });
      };
      using Many = ChordGradient<T, I, kWidth, 8>;
      using Few = ChordGradient<T, I, kWidth, 32>;
      // Few rows give few blocks: then uses more threads per row, if the row has enough pieces.
      if (ceil_div(shape_.order, Many::kRows) < kManyBlocks && columns >= Index{32} * kWidth) {
        run(Few{});
      } else {
        run(Many{});
      }
    });
  }

  /// Computes W_1 ... W_M X, or W_M^T ... W_1^T X. `spare` is a block of the same size. Returns the
  /// array with the result, x (which is overwritten) or spare.
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
  // Calculated for a GPU with 132 multiprocessors.
  static constexpr Index kManyBlocks = Index{4} * 132;

  template <bool kToDevice>
  void reorder(const T* from, T* to) const {
    for (Index m = 0; m < shape_.factors(); ++m) {
      const Index first = shape_.first_value(m);
      reorder_factor<kToDevice>(m, from + first, to + first);
    }
  }
  template <bool kToDevice>
  void reorder_factor(Index m, const T* from, T* to) const {
    queue_.run(
        ChordReorder<T, kToDevice>{from, to, shape_.order, static_cast<int>(shape_.links(m))});
  }

  /// Calls function(factor, first value) for each kMaxLinks links of factor m.
  template <class I, class Function>
  void for_links(Index m, const Function& function) const {
    const std::vector<Index>& offsets = shape_.offsets[static_cast<std::size_t>(m)];
    const auto count = static_cast<Index>(offsets.size());
    for (Index first = 0; first < count; first += kMaxLinks) {
      ChordFactor<T, I> factor;
      factor.order = static_cast<I>(shape_.order);
      factor.links = static_cast<int>(count - first < kMaxLinks ? count - first : kMaxLinks);
      for (int k = 0; k < factor.links; ++k)
        factor.offsets[k] = static_cast<I>(offsets[static_cast<std::size_t>(first + k)]);
      function(factor, first * shape_.order);
    }
  }

  template <int kWidth>
  struct Width {
    static constexpr int value = kWidth;
  };

  /// Calls function(an index of the right size, Width<columns per thread>).
  template <class Function>
  void with_sizes(Index columns, const Function& function) const {
    const auto with_index = [&](auto width) {
      if (fits_32_bits(shape_, columns)) {
        function(std::int32_t{}, width);
      } else {
        function(std::int64_t{}, width);
      }
    };
    switch (widest<T>(columns)) {
      case 4:
        if constexpr (sizeof(T) == 4) with_index(Width<4>{});
        break;
      case 2:
        with_index(Width<2>{});
        break;
      default:
        with_index(Width<1>{});
    }
  }

  const Queue& queue_;
  ChordShape shape_;
};

}  // namespace matapprox::cuda
