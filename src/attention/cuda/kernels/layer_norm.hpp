#pragma once

#include "device/cuda/kernels/reductions.hpp"
#include "row_reduction.hpp"

namespace matapprox::cuda {

inline constexpr double kNormFloor = 1e-5;  ///< added to the variance of a row

/// y = z o weight + bias, z = (x - mean) s, s = 1 / sqrt(variance + 1e-5), for each row; keeps z
/// and s. y may be x.
template <class T>
struct LayerNormForward {
  using Lanes = RowLanes<T>;
  using Shared = typename Lanes::Shared;
  static constexpr int kThreads = Lanes::kThreads;

  const T* x = nullptr;
  const T* weight = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  T* z = nullptr;       ///< rows x columns
  T* scales = nullptr;  ///< rows
  Index rows = 0;
  Index columns = 0;

  struct Local {
    T part;
    T mean;
    T scale;
  };

  Index blocks() const { return Lanes::blocks(rows); }
  MATAPPROX_HD int steps(Place) const { return 2; }  // the mean, the variance
  MATAPPROX_HD void begin(Place place, Local& own) const {
    own.part = 0;
    Lanes::each(
        place, rows, columns, [&](Index row, Index j) { own.part += x[row * columns + j]; });
  }
  MATAPPROX_HD void fill(Place place, int, Shared& shared, Local& own) const {
    Lanes::give(place, shared, own.part);
  }
  MATAPPROX_HD void use(Place place, int step, Shared& shared, Local& own) const {
    const T mean = Lanes::sum(place, shared) / static_cast<T>(columns);
    if (step == 1) {
      own.scale = 1 / sqrt_of(mean + static_cast<T>(kNormFloor));
      return;
    }
    own.mean = mean;
    own.part = 0;
    Lanes::each(place, rows, columns, [&](Index row, Index j) {
      const T off = x[row * columns + j] - mean;
      own.part += off * off;
    });
  }
  MATAPPROX_HD void end(Place place, const Local& own) const {
    Lanes::each(place, rows, columns, [&](Index row, Index j) {
      const Index at = row * columns + j;
      const T own_z = (x[at] - own.mean) * own.scale;
      z[at] = own_z;
      y[at] = own_z * weight[j] + bias[j];
      if (j == 0) scales[row] = own.scale;
    });
  }
};

/// dx = s (g - mean(g) - z mean(g o z)), g = dy o weight; dx may be dy.
template <class T>
struct LayerNormGradient {
  using Lanes = RowLanes<T>;
  using Shared = typename Lanes::Shared;
  static constexpr int kThreads = Lanes::kThreads;

  const T* z = nullptr;
  const T* scales = nullptr;
  const T* weight = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct Local {
    T mean;
    T along;
  };

  Index blocks() const { return Lanes::blocks(rows); }
  MATAPPROX_HD int steps(Place) const { return 2; }
  MATAPPROX_HD void begin(Place, Local& own) const { own.mean = own.along = 0; }
  MATAPPROX_HD void fill(Place place, int step, Shared& shared, Local&) const {
    T part = 0;
    Lanes::each(place, rows, columns, [&](Index row, Index j) {
      const Index at = row * columns + j;
      const T g = dy[at] * weight[j];
      part += step == 0 ? g : g * z[at];
    });
    Lanes::give(place, shared, part);
  }
  MATAPPROX_HD void use(Place place, int step, Shared& shared, Local& own) const {
    (step == 0 ? own.mean : own.along) = Lanes::sum(place, shared) / static_cast<T>(columns);
  }
  MATAPPROX_HD void end(Place place, const Local& own) const {
    Lanes::each(place, rows, columns, [&](Index row, Index j) {
      const Index at = row * columns + j;
      dx[at] = scales[row] * (dy[at] * weight[j] - own.mean - z[at] * own.along);
    });
  }
};

/// Sets dx, and the gradients of weight and bias.
template <class T, class Queue>
void layer_norm_backward(Scratch<T, Queue>& scratch,
                         const LayerNormGradient<T>& gradient,
                         T* d_weight,
                         T* d_bias) {
  column_products(scratch, gradient.dy, gradient.z, 1, gradient.rows, gradient.columns, d_weight);
  column_sums(scratch, gradient.dy, nullptr, 1, gradient.rows, gradient.columns, d_bias);
  scratch.queue().run(gradient);
}

}  // namespace matapprox::cuda
