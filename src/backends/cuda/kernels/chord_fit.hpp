#pragma once

#include <algorithm>
#include <functional>
#include <numeric>

#include "chord_objective.hpp"

namespace matapprox::cuda {

/// Fills the row-major n x count panel with the given columns of the target.
using TargetColumns = std::function<void(const Index* columns, Index count, double* panel)>;

/// Columns of a panel: as many as leave the (M + 4) panels of a fit in the second-level cache of a
/// card, but 64 at least, so that a value is used often enough for its way from memory; no more
/// than `memory` bytes for the panels.
inline Index panel_width(const ChordShape& shape, Index columns, Index memory) {
  constexpr Index kCacheBytes = Index{32} << 20;
  constexpr Index kUnit = 8;
  constexpr Index kLeast = 64;
  constexpr Index kMost = 512;
  const Index column_bytes = (shape.factors() + 4) * shape.order * Index{sizeof(double)};
  const Index wanted = std::clamp(kCacheBytes / column_bytes, kLeast, kMost);
  const Index own = ceil_div(columns, kUnit) * kUnit;
  const Index width = std::min({wanted, own, std::max(memory / column_bytes, Index{1})});
  return width < kUnit ? width : width / kUnit * kUnit;
}

/// Columns first .. first+count-1 of a row-major n x n matrix from a row-major panel.
struct PlaceColumns {
  static constexpr int kThreads = 256;
  const double* panel;
  Index count;
  Index order;
  Index first;
  double* matrix;
  Index blocks() const { return ceil_div(order * count, kThreads); }
  MATAPPROX_HD void operator()(Place place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= order * count) return;
    const Index i = t / count;
    matrix[i * order + first + (t - i * count)] = panel[t];
  }
};

/// The objective of a fit for callers whose numbers are on the host: values and gradients go in and
/// out in the host's layout. The target is on the device as a whole, or a panel of it at a time.
template <class Queue>
class ChordFit {
 public:
  /// `most_columns`: of one evaluation; `memory`: bytes that panels may take. `whole`: the target
  /// is read now, n^2 numbers, and stays on the device.
  ChordFit(const Queue& queue,
           const ChordShape& shape,
           Index most_columns,
           Index memory,
           TargetColumns target,
           bool whole)
      : queue_(queue),
        target_(std::move(target)),
        objective_(queue, shape, panel_width(shape, most_columns, memory)),
        rows_(queue.template array<double>(shape.stored_numbers())),
        values_(queue.template array<double>(shape.stored_numbers())),
        gradient_(queue.template array<double>(shape.stored_numbers())),
        columns_(queue.template array<Index>(std::max<Index>(most_columns, 1))) {
    if (whole) read_target();
  }

  /// f over the listed columns (at most most_columns of them) and, unless null, its gradient.
  double evaluate(const Index* columns, Index count, const double* values, double* gradient) {
    const ChordShape& shape = objective_.chain().shape();
    const Index numbers = shape.stored_numbers();
    queue_.upload(columns, count, columns_.data());
    queue_.upload(values, numbers, rows_.data());
    objective_.chain().to_device_layout(rows_.data(), values_.data());
    double* device_gradient = gradient == nullptr ? nullptr : gradient_.data();
    const double f = evaluate_on_device(columns, count, device_gradient);
    if (gradient != nullptr) {
      objective_.chain().to_host_layout(gradient_.data(), rows_.data());
      queue_.download(rows_.data(), numbers, gradient);
    }
    return f;
  }

 private:
  double evaluate_on_device(const Index* columns, Index count, double* gradient) {
    const Index n = objective_.chain().shape().order;
    const Index width = objective_.width();
    if (matrix_.size() > 0) {
      const DenseColumns<double> target{matrix_.data(), n, width, columns_.data()};
      return objective_.evaluate(values_.data(), columns_.data(), count, target, gradient);
    }
    panel_.resize(static_cast<std::size_t>(n * width));
    const auto target = [&](const Queue& queue, Index first, Index own, double* panel) {
      target_(columns + first, own, panel_.data());
      if (own < width) widen(panel_.data(), n, own, width);
      queue.upload(panel_.data(), n * width, panel);
      queue.wait();
    };
    return objective_.evaluate(values_.data(), columns_.data(), count, target, gradient);
  }

  /// From rows of `own` numbers to rows of `width`, zeros behind; the last ones first, in place.
  static void widen(double* panel, Index rows, Index own, Index width) {
    for (Index i = rows - 1; i >= 0; --i) {
      double* row = panel + i * width;
      std::copy_backward(panel + i * own, panel + (i + 1) * own, row + own);
      std::fill(row + own, row + width, 0.0);
    }
  }

  void read_target() {
    const Index n = objective_.chain().shape().order;
    constexpr Index kColumns = 64;
    matrix_ = queue_.template array<double>(n * n);
    auto piece = queue_.template array<double>(n * kColumns);
    std::vector<double> panel(static_cast<std::size_t>(n * kColumns));
    std::vector<Index> columns(kColumns);
    for (Index first = 0; first < n; first += kColumns) {
      const Index count = std::min(kColumns, n - first);
      std::iota(columns.begin(), columns.end(), first);
      target_(columns.data(), count, panel.data());
      queue_.upload(panel.data(), n * count, piece.data());
      queue_.run(PlaceColumns{piece.data(), count, n, first, matrix_.data()});
      queue_.wait();
    }
  }

  const Queue& queue_;
  TargetColumns target_;
  ChordObjective<double, Queue> objective_;
  decltype(std::declval<const Queue&>().template array<double>(1)) rows_;
  decltype(std::declval<const Queue&>().template array<double>(1)) values_;
  decltype(std::declval<const Queue&>().template array<double>(1)) gradient_;
  decltype(std::declval<const Queue&>().template array<double>(1)) matrix_;
  decltype(std::declval<const Queue&>().template array<Index>(1)) columns_;
  std::vector<double> panel_;
};

}  // namespace matapprox::cuda
