#pragma once

#include "device/cuda/kernels/functions.hpp"
#include "pass.hpp"

namespace matapprox::cuda {

/// Assignment of threads to rows of a few hundred numbers. kLanes threads share a row: each
/// processes every kLanes-th number, then each of them adds up the partial sums of all in order.
struct RowLanes {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 32;
  static constexpr int kRows = kThreads / kLanes;

  static MATAPPROX_HD Index row(GridPosition place) {
    return place.block * kRows + place.thread / kLanes;
  }
  static MATAPPROX_HD int lane(GridPosition place) { return place.thread % kLanes; }
  template <class T>
  static MATAPPROX_HD T sum(GridPosition place, const T* parts) {
    const T* own = parts + place.thread / kLanes * kLanes;
    T sum = own[0];
    for (int l = 1; l < kLanes; ++l) sum += own[l];
    return sum;
  }
};

/// z = (x - mean) s with s = 1 / sqrt(variance + epsilon) of each row, and y = z o weight + bias. y
/// may be x. [BKH16]
template <class T>
struct NormalizeRows {
  static constexpr int kThreads = RowLanes::kThreads;
  const T* x = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;
  T epsilon = 0;
  T* z = nullptr;
  T* scales = nullptr;  ///< s
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct SharedMemory {
    T parts[kThreads];
  };
  struct Registers {
    T mean;
  };

  Index blocks() const { return ceil_div(rows, RowLanes::kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return 2; }
  MATAPPROX_HD void begin(GridPosition, Registers& own) const { own.mean = 0; }

  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    T sum = 0;
    for (Index c = RowLanes::lane(place); c < columns; c += RowLanes::kLanes) {
      const T off = x[row * columns + c] - own.mean;
      sum += step == 0 ? off : off * off;
    }
    shared.parts[place.thread] = sum;
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    const T mean = RowLanes::sum(place, shared.parts) / static_cast<T>(columns);
    if (step == 0) {
      own.mean = mean;
      return;
    }
    const T scale = T(1) / sqrt_of(mean + epsilon);
    if (RowLanes::lane(place) == 0) scales[row] = scale;
    for (Index c = RowLanes::lane(place); c < columns; c += RowLanes::kLanes) {
      const Index at = row * columns + c;
      const T normalized = (x[at] - own.mean) * scale;
      z[at] = normalized;
      y[at] = normalized * weight[c] + bias[c];
    }
  }
};

/// dx = s (g - mean(g) - z mean(g o z)) with g = dy o weight. dx may be dy. z is overwritten with
/// dy o z, whose column sums are the gradient of the weight.
template <class T>
struct NormalizeRowsBackward {
  static constexpr int kThreads = RowLanes::kThreads;
  const T* dy = nullptr;
  const T* weight = nullptr;
  const T* scales = nullptr;
  T* z = nullptr;
  T* dx = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct SharedMemory {
    T sums[kThreads];
    T along[kThreads];
  };
  struct Registers {};

  Index blocks() const { return ceil_div(rows, RowLanes::kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }

  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    T sum = 0;
    T along = 0;
    for (Index c = RowLanes::lane(place); c < columns; c += RowLanes::kLanes) {
      const T g = dy[row * columns + c] * weight[c];
      sum += g;
      along += g * z[row * columns + c];
    }
    shared.sums[place.thread] = sum;
    shared.along[place.thread] = along;
  }
  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    const T share = T(1) / static_cast<T>(columns);
    const T mean = RowLanes::sum(place, shared.sums) * share;
    const T along = RowLanes::sum(place, shared.along) * share;
    const T scale = scales[row];
    for (Index c = RowLanes::lane(place); c < columns; c += RowLanes::kLanes) {
      const Index at = row * columns + c;
      const T d = dy[at];
      const T normalized = z[at];
      dx[at] = (d * weight[c] - mean - normalized * along) * scale;
      z[at] = d * normalized;
    }
  }
};

/// A LayerNorm. Stores rows x columns numbers and one per row.
template <class T, class Queue>
class LayerNormLayer {
 public:
  LayerNormLayer(const Queue& queue, const LinearSlots& places, double epsilon, Index rows)
      : places_(places),
        epsilon_(epsilon),
        rows_(rows),
        z_(queue.template array<T>(rows * places.weight.cols)),
        scales_(queue.template array<T>(rows)) {}

  /// y may be x.
  void forward(const Pass<T, Queue>& pass, const T* x, T* y) {
    NormalizeRows<T> kernel;
    kernel.x = x;
    kernel.weight = pass.parameters + places_.weight.offset;
    kernel.bias = pass.parameters + places_.bias.offset;
    kernel.epsilon = static_cast<T>(epsilon_);
    kernel.z = z_.data();
    kernel.scales = scales_.data();
    kernel.y = y;
    kernel.rows = rows_;
    kernel.columns = columns();
    pass.queue().run(kernel);
  }
  /// Computes dx from dy; called once after a forward pass. dx may be dy.
  void backward(const Pass<T, Queue>& pass, const T* dy, T* dx) {
    column_sums(
        *pass.scratch, dy, nullptr, 1, rows_, columns(), pass.gradient + places_.bias.offset);
    pass.queue().run(NormalizeRowsBackward<T>{dy,
                                              pass.parameters + places_.weight.offset,
                                              scales_.data(),
                                              z_.data(),
                                              dx,
                                              rows_,
                                              columns()});
    column_sums(*pass.scratch,
                z_.data(),
                nullptr,
                1,
                rows_,
                columns(),
                pass.gradient + places_.weight.offset);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  Index columns() const { return places_.weight.cols; }

  LinearSlots places_;
  double epsilon_;
  Index rows_;
  Array z_;
  Array scales_;
};

}  // namespace matapprox::cuda
