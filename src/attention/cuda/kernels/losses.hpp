#pragma once

#include <cstdint>

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/grid.hpp"
#include "matapprox/attention/options.hpp"

namespace matapprox::cuda {

using training::LossKind;

/// Computes for each row of outputs (rows x classes; 1 class if squared) its loss, whether its
/// answer is wrong, and d_out = weight times the gradient. Arithmetic is in double, whatever T is:
///   squared                (o - y)^2
///   cross entropy          -sum_c q_c log softmax(o)_c, q = (1 - s) e_y + s / C
///   binary cross entropy   -sum_c [q_c log sigma(o_c) + (1 - q_c) log(1 - sigma(o_c))] / C
/// An answer is wrong if |o - y| >= tolerance, or if the largest output (the first of equal ones)
/// is not that of y. For a set of labels, 0 or 1 for each class, q_c = (1 - s) y_c + s / 2, and
/// `wrong` counts the outputs on the wrong side of 0.
template <class T>
struct LossOfRows {
  static constexpr int kThreads = 128;

  LossKind kind = LossKind::kSquared;
  double smoothing = 0;
  double tolerance = 0;
  double weight = 1;
  Index rows = 0;
  int classes = 1;
  const T* out = nullptr;
  const double* numbers = nullptr;       ///< y if squared
  const std::int32_t* labels = nullptr;  ///< y otherwise
  bool sets = false;                     ///< labels are rows x classes, 0 or 1
  T* d_out = nullptr;
  double* losses = nullptr;
  double* wrong = nullptr;  ///< 1 or 0; for sets, number of wrong outputs

  Index blocks() const { return ceil_div(rows, kThreads); }

  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index row = place.block * kThreads + place.thread;
    if (row >= rows) return;
    const T* o = out + row * classes;
    T* d = d_out + row * classes;
    if (kind == LossKind::kSquared) {
      const double off = static_cast<double>(o[0]) - numbers[row];
      losses[row] = off * off;
      wrong[row] = off >= tolerance || -off >= tolerance ? 1 : 0;
      d[0] = static_cast<T>(2 * off * weight);
      return;
    }
    if (sets) {
      set_loss(row, o, d);
      return;
    }
    const int label = labels[row];
    int largest = 0;
    for (int c = 1; c < classes; ++c) largest = o[c] > o[largest] ? c : largest;
    wrong[row] = largest == label ? 0 : 1;
    losses[row] = kind == LossKind::kCrossEntropy
                      ? cross_entropy(o, label, static_cast<double>(o[largest]), d)
                      : binary_cross_entropy(
                            o, [&](int c) { return wanted(c, label); }, d);
  }

 private:
  MATAPPROX_HD void set_loss(Index row, const T* o, T* d) const {
    const std::int32_t* own = labels + row * classes;
    double off = 0;
    for (int c = 0; c < classes; ++c) off += (o[c] > T(0)) != (own[c] == 1) ? 1 : 0;
    wrong[row] = off;
    losses[row] = binary_cross_entropy(
        o, [&](int c) { return (1 - smoothing) * own[c] + smoothing / 2; }, d);
  }
  MATAPPROX_HD double wanted(int c, int label) const {
    return smoothing / classes + (c == label ? 1 - smoothing : 0);
  }
  MATAPPROX_HD double cross_entropy(const T* o, int label, double largest, T* d) const {
    double sum = 0;
    for (int c = 0; c < classes; ++c) sum += exp_of(static_cast<double>(o[c]) - largest);
    const double log_sum = largest + log_of(sum);
    double loss = 0;
    for (int c = 0; c < classes; ++c) {
      const auto own = static_cast<double>(o[c]);
      loss += wanted(c, label) * (log_sum - own);
      d[c] = static_cast<T>((exp_of(own - log_sum) - wanted(c, label)) * weight);
    }
    return loss;
  }
  template <class Wanted>
  MATAPPROX_HD double binary_cross_entropy(const T* o, const Wanted& of_class, T* d) const {
    double loss = 0;
    for (int c = 0; c < classes; ++c) {
      const auto own = static_cast<double>(o[c]);
      const double size = own < 0 ? -own : own;
      // log(1 + e^-|o|) + max(o, 0) - q o, without overflow.
      loss += log1p(exp_of(-size)) + (own > 0 ? own : 0) - of_class(c) * own;
      d[c] = static_cast<T>((1 / (1 + exp_of(-own)) - of_class(c)) / classes * weight);
    }
    return loss / classes;
  }
};

}  // namespace matapprox::cuda
