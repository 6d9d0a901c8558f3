#pragma once

#include "functions.hpp"
#include "sums.hpp"

// Operations on tall column-major matrices without gaps: neighboring threads, neighboring rows.
namespace matapprox::cuda {

/// Computes out = A(S, :), column-major.
template <class T>
struct GatherRows {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  const Index* chosen = nullptr;  ///< S
  T* to = nullptr;
  Index rows = 0;
  Index chosen_count = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(chosen_count * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= chosen_count * columns) return;
    const Index column = t / chosen_count;
    to[t] = from[column * rows + chosen[t - column * chosen_count]];
  }
};

/// Computes out(i) = |A(i, :)|^2, added column by column.
template <class T>
struct RowSquares {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  T* to = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= rows) return;
    T sum = 0;
    for (Index c = 0; c < columns; ++c) {
      const T value = from[c * rows + i];
      sum += value * value;
    }
    to[i] = sum;
  }
};

/// Computes parts[b] = the largest |x| that block b reads; not finite if one of them is not. It has
/// as many blocks as a GPU with 132 multiprocessors can run at a time, fewer for fewer numbers.
struct LargestNumbers {
  static constexpr int kThreads = 256;
  static constexpr Index kMaxParts = Index{8} * 132;
  using SharedMemory = BlockSum<kThreads>::SharedMemory;
  struct Registers {
    double largest;
  };

  const double* numbers = nullptr;
  Index size = 0;
  double* parts = nullptr;

  MATAPPROX_HD Index blocks() const {
    const Index wanted = ceil_div(size, kThreads);
    return wanted < kMaxParts ? wanted : kMaxParts;
  }
  /// A NaN propagates.
  static MATAPPROX_HD double larger(double a, double b) { return b > a || b != b ? b : a; }

  MATAPPROX_HD int steps(GridPosition) const { return BlockSum<kThreads>::steps(); }
  MATAPPROX_HD void begin(GridPosition place, Registers& own) const {
    own.largest = 0;
    for (Index i = place.block * kThreads + place.thread; i < size; i += blocks() * kThreads)
      own.largest = larger(own.largest, numbers[i] < 0 ? -numbers[i] : numbers[i]);
  }
  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    BlockSum<kThreads>::fill(place.thread, step, shared, own.largest);
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const int half = kThreads >> (step + 1);
    if (place.thread < half) own.largest = larger(own.largest, shared.parts[place.thread + half]);
  }
  MATAPPROX_HD void end(GridPosition place, const Registers& own) const {
    if (place.thread == 0) parts[place.block] = own.largest;
  }
};

struct ScaleNumbers {
  static constexpr int kThreads = 256;
  double factor = 1;
  double* numbers = nullptr;
  Index size = 0;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i < size) numbers[i] *= factor;
  }
};

/// Same as kernels::AdamStep.
struct AdamStep {
  double mean_decay = 0;
  double square_decay = 0;
  double mean_step = 0;
  double square_scale = 1;
  double epsilon = 0;
};

/// An Adam step [KB15] on each number of a fit.
struct AdamNumbers {
  static constexpr int kThreads = 256;
  AdamStep step;
  const double* gradient = nullptr;
  Index size = 0;
  double* mean = nullptr;
  double* square = nullptr;
  double* x = nullptr;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= size) return;
    const double g = gradient[i];
    mean[i] = step.mean_decay * mean[i] + (1 - step.mean_decay) * g;
    square[i] = step.square_decay * square[i] + (1 - step.square_decay) * g * g;
    x[i] -= step.mean_step * mean[i] / (sqrt_of(square[i]) * step.square_scale + step.epsilon);
  }
};

}  // namespace matapprox::cuda
