#pragma once

#include "attention/functions.hpp"
#include "grid.hpp"

// Rows of tall matrices, column-major without gaps: neighbouring threads have neighbouring rows.
namespace matapprox::cuda {

/// out = A(S, :), column-major.
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
  MATAPPROX_HD void operator()(Place place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= chosen_count * columns) return;
    const Index column = t / chosen_count;
    to[t] = from[column * rows + chosen[t - column * chosen_count]];
  }
};

/// out(i) = |A(i, :)|^2, added column after column.
template <class T>
struct RowSquares {
  static constexpr int kThreads = 256;
  const T* from = nullptr;
  T* to = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
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

/// parts[p] = the largest |x| among numbers p, p + kParts, ...; not finite if one of them is not.
struct LargestNumbers {
  static constexpr int kThreads = 256;
  static constexpr Index kParts = Index{64} * kThreads;
  const double* numbers = nullptr;
  Index size = 0;
  double* parts = nullptr;

  static Index blocks() { return kParts / kThreads; }
  MATAPPROX_HD void operator()(Place place) const {
    const Index p = place.block * kThreads + place.thread;
    double largest = 0;
    for (Index i = p; i < size; i += kParts) {
      const double x = numbers[i] < 0 ? -numbers[i] : numbers[i];
      if (x > largest || x != x) largest = x;
    }
    parts[p] = largest;
  }
};

struct ScaleNumbers {
  static constexpr int kThreads = 256;
  double factor = 1;
  double* numbers = nullptr;
  Index size = 0;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i < size) numbers[i] *= factor;
  }
};

/// BlockPlace::Adam
struct AdamStep {
  double mean_decay = 0;
  double square_decay = 0;
  double mean_step = 0;
  double square_scale = 1;
  double epsilon = 0;
};

/// A step of Adam [KB15] on each number of a fit.
struct AdamNumbers {
  static constexpr int kThreads = 256;
  AdamStep step;
  const double* gradient = nullptr;
  Index size = 0;
  double* mean = nullptr;
  double* square = nullptr;
  double* x = nullptr;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= size) return;
    const double g = gradient[i];
    mean[i] = step.mean_decay * mean[i] + (1 - step.mean_decay) * g;
    square[i] = step.square_decay * square[i] + (1 - step.square_decay) * g * g;
    x[i] -= step.mean_step * mean[i] / (sqrt_of(square[i]) * step.square_scale + step.epsilon);
  }
};

}  // namespace matapprox::cuda
