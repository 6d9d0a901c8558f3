#pragma once

#include "chord_chain.hpp"
#include "sums.hpp"

namespace matapprox::cuda {

/// Sets unit columns in a row-major n x width panel of zeros: E[columns[c], c] = 1 for c < count.
template <class T>
struct UnitColumns {
  static constexpr int kThreads = 64;
  const Index* columns = nullptr;
  Index count = 0;
  Index width = 0;
  T* panel = nullptr;

  Index blocks() const { return ceil_div(count, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index c = place.block * kThreads + place.thread;
    if (c < count) panel[columns[c] * width + c] = T(1);
  }
};

/// Copies columns of a row-major n x n matrix on the device into a row-major n x width panel:
/// columns[c] for c < count, padded with zeros.
template <class T>
struct DensePanel {
  static constexpr int kThreads = 256;
  const T* matrix = nullptr;
  Index order = 0;
  const Index* columns = nullptr;
  Index count = 0;
  Index width = 0;
  T* panel = nullptr;

  Index blocks() const { return ceil_div(order * width, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= order * width) return;
    const Index i = t / width;
    const Index c = t - i * width;
    panel[t] = c < count ? matrix[i * order + columns[c]] : T(0);
  }
};

/// Copies columns of a sparse matrix, divided by `unit`, from its compressed columns: like
/// DensePanel, but the panel must be zero before. One block of threads per column.
template <class T>
struct SparsePanel {
  static constexpr int kThreads = 64;
  const Index* starts = nullptr;
  const Index* rows = nullptr;
  const T* values = nullptr;
  T unit = 1;
  const Index* columns = nullptr;
  Index count = 0;
  Index width = 0;
  T* panel = nullptr;

  Index blocks() const { return count; }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index j = columns[place.block];
    for (Index e = starts[j] + place.thread; e < starts[j + 1]; e += kThreads)
      panel[rows[e] * width + place.block] = values[e] / unit;
  }
};

/// Computes t -= x, or t = (t + u) / 2 - x unless u is null, and the square of the result.
template <class T>
struct SubtractAndSquare {
  T* t = nullptr;
  const T* x = nullptr;
  const T* u = nullptr;
  MATAPPROX_HD T read(Index i) const { return (u == nullptr ? t[i] : (t[i] + u[i]) / T(2)) - x[i]; }
  MATAPPROX_HD double add(Index i, T difference) const {
    t[i] = difference;
    return static_cast<double>(difference) * static_cast<double>(difference);
  }
};

/// f = 1/2 sum over columns c of |Z e_c - X e_c|^2 and its gradient, where Z = W_1...W_M or its
/// symmetric part, according to the shape. Works on panels of `width` columns, as
/// kernels::chord_objective of the library does on the host: no n x n array unless the target is
/// one. Values and gradients are in the device's layout.
///
/// Panels are processed one after the other on one stream, so sums have a fixed order. Memory: (M +
/// 4) n width numbers. Work per column: 6 M n K flops, 8 M n K if symmetrized.
///
/// Columns(queue, first, count, panel) must fill a panel of the target with the columns at
/// positions first .. first+count-1 of the list, padded with zeros.
template <class T, class Queue>
class ChordObjective {
 public:
  ChordObjective(const Queue& queue, const ChordShape& shape, Index width)
      : queue_(queue),
        chain_(queue, shape),
        width_(width),
        panel_numbers_(shape.order * width),
        panels_(queue.template array<T>((shape.factors() + 4) * panel_numbers_)),
        parts_(queue.template array<double>(parts_of(panel_numbers_))) {}

  const ChordChain<T, Queue>& chain() const { return chain_; }
  Index width() const { return width_; }

  /// Returns f and, unless null, computes its gradient. `columns`: `count` columns, on the device.
  template <class Columns>
  double evaluate(
      const T* values, const Index* columns, Index count, const Columns& target, T* gradient) {
    const Index panels = ceil_div(count, width_);
    auto sums = queue_.template array<double>(panels + 1);
    if (gradient != nullptr) queue_.zero(gradient, chain_.shape().stored_numbers());
    for (Index p = 0; p < panels; ++p) {
      const Index first = p * width_;
      const Index own = count - first < width_ ? count - first : width_;
      multiply_units(values, columns + first, own);
      target(queue_, first, own, extra(0));
      const T* transposed = chain_.shape().symmetrized ? transposed_units(values) : nullptr;
      sum_elements(queue_,
                   SubtractAndSquare<T>{panel(0), extra(0), transposed},
                   panel_numbers_,
                   parts_.data(),
                   sums.data() + p);
      if (gradient != nullptr) add_gradient(values, gradient);
    }
    queue_.run(SumOfParts{sums.data(), panels, sums.data() + panels});
    double f = 0;
    queue_.download(sums.data() + panels, 1, &f);
    return 0.5 * f;
  }

 private:
  T* panel(Index m) { return panels_.data() + m * panel_numbers_; }
  T* extra(Index e) { return panel(chain_.shape().factors() + 1 + e); }

  /// Computes panel(m) = W_m+1 ... W_M E for the unit columns E, panel(M) = E.
  void multiply_units(const T* values, const Index* columns, Index count) {
    const ChordShape& shape = chain_.shape();
    T* units = panel(shape.factors());
    queue_.zero(units, panel_numbers_);
    queue_.run(UnitColumns<T>{columns, count, width_, units});
    for (Index m = shape.factors() - 1; m >= 0; --m) {
      chain_.multiply(m, values + shape.first_value(m), panel(m + 1), panel(m), width_, false);
    }
  }

  /// Computes W_M^T ... W_1^T E for the unit columns E of panel(M), in one of two extra panels.
  const T* transposed_units(const T* values) {
    const ChordShape& shape = chain_.shape();
    const T* from = panel(shape.factors());
    T* to = extra(1);
    T* other = extra(2);
    for (Index m = 0; m < shape.factors(); ++m) {
      chain_.multiply(m, values + shape.first_value(m), from, to, width_, true);
      from = to;
      std::swap(to, other);
    }
    return from;
  }

  /// Adds the gradient of <G, W_1...W_M E>, G in panel 0; panel m is T_m and becomes G_m.
  void add_gradient(const T* values, T* gradient) {
    const ChordShape& shape = chain_.shape();
    for (Index m = 0; m < shape.factors(); ++m) {
      const Index at = shape.first_value(m);
      chain_.add_gradient(m, panel(m), panel(m + 1), gradient + at, width_);
      if (m + 1 < shape.factors())
        chain_.multiply(m, values + at, panel(m), panel(m + 1), width_, true);
    }
  }

  const Queue& queue_;
  ChordChain<T, Queue> chain_;
  Index width_;
  Index panel_numbers_;
  decltype(std::declval<const Queue&>().template array<T>(1)) panels_;
  decltype(std::declval<const Queue&>().template array<double>(1)) parts_;
};

/// A target on the device, row-major n x n; `columns` as in the objective.
template <class T>
struct DenseColumns {
  const T* matrix = nullptr;
  Index order = 0;
  Index width = 0;
  const Index* columns = nullptr;

  template <class Queue>
  void operator()(const Queue& queue, Index first, Index count, T* panel) const {
    queue.run(DensePanel<T>{matrix, order, columns + first, count, width, panel});
  }
};

}  // namespace matapprox::cuda
