#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "chord_objective.hpp"

namespace matapprox::cuda {

/// Fills the row-major n x count panel with the given columns of the target.
using TargetColumns = std::function<void(const Index* columns, Index count, double* panel)>;

/// Returns the number of columns per panel, for panels of about equal size that take at most
/// `memory` bytes together. The three panels that one kernel reads or writes should fit into the
/// second-level cache of a GPU, but a panel has at least 64 columns, so that each value read from
/// memory is used often enough. Not all (M + 4) panels of a fit need to be in the cache: each is
/// transferred to and from memory once, while each kernel reads its own some log N times. At N =
/// 4096 there are a fifth as many kernels, each of which waits for the one before, as with panels
/// of 64 columns.
inline Index panel_width(const ChordShape& shape, Index columns, Index memory) {
  constexpr Index kCacheBytes = Index{32} << 20;
  constexpr Index kUnit = 8;
  constexpr Index kMin = 64;
  constexpr Index kMax = 512;
  const Index column_bytes = shape.order * Index{sizeof(double)};
  const Index wanted = std::clamp(kCacheBytes / (3 * column_bytes), kMin, kMax);
  const Index room = std::max(memory / ((shape.factors() + 4) * column_bytes), Index{1});
  if (room < kUnit) return room;
  const Index most = std::min(wanted, room) / kUnit * kUnit;
  const Index panels = ceil_div(std::max(columns, Index{1}), most);
  return ceil_div(ceil_div(columns, panels), kUnit) * kUnit;
}

/// Copies a row-major panel into the columns first .. first+count-1 of a row-major n x n matrix.
struct PlaceColumns {
  static constexpr int kThreads = 256;
  const double* panel;
  Index count;
  Index order;
  Index first;
  double* matrix;
  Index blocks() const { return ceil_div(order * count, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    if (t >= order * count) return;
    const Index i = t / count;
    matrix[i * order + first + (t - i * count)] = panel[t];
  }
};

/// Some columns of a matrix, by their numbers.
struct ColumnList {
  const Index* on_host = nullptr;
  const Index* placed = nullptr;  ///< the same list on the device
  Index count = 0;
};

/// The matrix that is fitted.
class TargetPanels {
 public:
  virtual ~TargetPanels() = default;
  TargetPanels(const TargetPanels&) = delete;
  TargetPanels(TargetPanels&&) = delete;
  TargetPanels& operator=(const TargetPanels&) = delete;
  TargetPanels& operator=(TargetPanels&&) = delete;
  /// Fills the row-major n x width panel on the device with the listed columns, padded with zeros.
  virtual void fill(const ColumnList& list, Index width, double* panel) = 0;

 protected:
  TargetPanels() = default;
};

/// The objective of a fit for callers with numbers on the device in the host's layout.
template <class Queue>
class ChordFit {
 public:
  /// `max_columns`: columns per evaluation, at most; `memory`: bytes for the panels, at most.
  ChordFit(const Queue& queue,
           const ChordShape& shape,
           Index max_columns,
           Index memory,
           std::unique_ptr<TargetPanels> target)
      : queue_(queue),
        target_(std::move(target)),
        objective_(queue, shape, panel_width(shape, max_columns, memory)),
        values_(queue.template array<double>(shape.stored_numbers())),
        gradient_(queue.template array<double>(shape.stored_numbers())),
        columns_(queue.template array<Index>(std::max<Index>(max_columns, 1))) {}

  /// Returns f over the listed columns (a host array, at most max_columns of them) and, unless
  /// null, computes its gradient.
  double evaluate(const Index* columns, Index count, const double* values, double* gradient) {
    const ChordChain<double, Queue>& chain = objective_.chain();
    queue_.upload(columns, count, columns_.data());
    chain.to_device_layout(values, values_.data());
    const auto target = [&](const Queue&, Index first, Index own, double* panel) {
      target_->fill({columns + first, columns_.data() + first, own}, objective_.width(), panel);
    };
    const double f = objective_.evaluate(values_.data(),
                                         columns_.data(),
                                         count,
                                         target,
                                         gradient == nullptr ? nullptr : gradient_.data());
    if (gradient != nullptr) chain.to_host_layout(gradient_.data(), gradient);
    return f;
  }

 private:
  const Queue& queue_;
  std::unique_ptr<TargetPanels> target_;
  ChordObjective<double, Queue> objective_;
  decltype(std::declval<const Queue&>().template array<double>(1)) values_;
  decltype(std::declval<const Queue&>().template array<double>(1)) gradient_;
  decltype(std::declval<const Queue&>().template array<Index>(1)) columns_;
};

}  // namespace matapprox::cuda
