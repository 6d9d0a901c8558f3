#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "device/cuda/gpu_factor.hpp"
#include "device/cuda/host_factors.hpp"
#include "device/cuda/kernels/chord_fit.hpp"
#include "device/cuda/kernels/kernel_tiles.hpp"

// Targets of a fit, by the source of their columns.
namespace matapprox::cuda {

/// A kernel matrix divided by `unit`.
struct ChordKernel {
  HostKernel matrix;
  double unit = 1;
};
/// A sparse matrix divided by `unit`, as the compressed rows of its transpose.
struct ChordSparse {
  HostSparse columns;
  double unit = 1;
};
/// The source of a target's columns: the host, or numbers copied to the GPU at the fit's creation.
using ChordSource = std::variant<TargetColumns, ChordKernel, ChordSparse>;

/// A target whose panels are read from the host one at a time.
template <class Queue>
class HostTarget final : public TargetPanels {
 public:
  HostTarget(const Queue& queue, Index order, TargetColumns columns)
      : queue_(queue), order_(order), columns_(std::move(columns)) {}

  void fill(const ColumnList& list, Index width, double* panel) override {
    panel_.resize(static_cast<std::size_t>(order_ * width));
    columns_(list.on_host, list.count, panel_.data());
    if (list.count < width) widen(list.count, width);
    queue_.upload(panel_.data(), order_ * width, panel);
    queue_.wait();
  }

 private:
  /// Spreads rows of `own` numbers to rows of `width` numbers, padded with zeros; in place, from
  /// the last row to the first.
  void widen(Index own, Index width) {
    for (Index i = order_ - 1; i >= 0; --i) {
      double* from = panel_.data() + i * own;
      double* row = panel_.data() + i * width;
      std::copy_backward(from, from + own, row + own);
      std::fill(row + own, row + width, 0.0);
    }
  }

  const Queue& queue_;
  Index order_;
  TargetColumns columns_;
  std::vector<double> panel_;
};

/// A target that is read from the host as a whole when it is created: n^2 numbers on the device.
template <class Queue>
class WholeTarget final : public TargetPanels {
 public:
  WholeTarget(const Queue& queue, Index order, const TargetColumns& target)
      : queue_(queue), order_(order), matrix_(queue.template array<double>(order * order)) {
    constexpr Index kColumns = 64;
    auto piece = queue_.template array<double>(order * kColumns);
    std::vector<double> panel(static_cast<std::size_t>(order * kColumns));
    std::vector<Index> columns(kColumns);
    for (Index first = 0; first < order; first += kColumns) {
      const Index count = std::min(kColumns, order - first);
      std::iota(columns.begin(), columns.end(), first);
      target(columns.data(), count, panel.data());
      queue_.upload(panel.data(), order * count, piece.data());
      queue_.run(PlaceColumns{piece.data(), count, order, first, matrix_.data()});
      queue_.wait();
    }
  }

  void fill(const ColumnList& list, Index width, double* panel) override {
    queue_.run(DensePanel<double>{matrix_.data(), order_, list.placed, list.count, width, panel});
  }

 private:
  const Queue& queue_;
  Index order_;
  decltype(std::declval<const Queue&>().template array<double>(1)) matrix_;
};

/// A sparse target whose entries are stored on the device.
template <class Queue>
class SparseTarget final : public TargetPanels {
 public:
  SparseTarget(const Queue& queue, const ChordSparse& target)
      : queue_(queue),
        order_(target.columns.cols),
        unit_(target.unit),
        starts_(copied(queue, target.columns.row_starts, target.columns.rows + 1)),
        rows_(copied(queue, target.columns.columns, target.columns.stored())),
        values_(copied(queue, target.columns.values, target.columns.stored())) {
    queue_.wait();
  }

  void fill(const ColumnList& list, Index width, double* panel) override {
    queue_.zero(panel, order_ * width);
    queue_.run(SparsePanel<double>{starts_.data(),
                                   rows_.data(),
                                   values_.data(),
                                   unit_,
                                   list.placed,
                                   list.count,
                                   width,
                                   panel});
  }

 private:
  template <class T>
  using Array = decltype(std::declval<const Queue&>().template array<T>(1));

  const Queue& queue_;
  Index order_;
  double unit_;
  Array<Index> starts_;
  Array<Index> rows_;
  Array<double> values_;
};

/// A kernel target whose points are stored on the device; entries are computed when needed.
template <class Queue>
class KernelTarget final : public TargetPanels {
 public:
  KernelTarget(const Queue& queue, const ChordKernel& target)
      : unit_(target.unit),
        points_(copied(queue, target.matrix.points, target.matrix.count * target.matrix.dimension)),
        matrix_(queue,
                {target.matrix.count, target.matrix.dimension, points_.data()},
                target.matrix.formula) {
    queue.wait();
  }

  void fill(const ColumnList& list, Index width, double* panel) override {
    matrix_.panel(list.placed, list.count, width, unit_, panel);
  }

 private:
  double unit_;
  decltype(std::declval<const Queue&>().template array<double>(1)) points_;
  KernelMatrix<double, Queue> matrix_;
};

/// `whole`: read a target from the host as a whole now.
template <class Queue>
std::unique_ptr<TargetPanels> make_target_panels(const Queue& queue,
                                                 Index order,
                                                 const ChordSource& source,
                                                 bool whole) {
  if (const auto* kernel = std::get_if<ChordKernel>(&source))
    return std::make_unique<KernelTarget<Queue>>(queue, *kernel);
  if (const auto* sparse = std::get_if<ChordSparse>(&source))
    return std::make_unique<SparseTarget<Queue>>(queue, *sparse);
  const auto& columns = std::get<TargetColumns>(source);
  if (whole) return std::make_unique<WholeTarget<Queue>>(queue, order, columns);
  return std::make_unique<HostTarget<Queue>>(queue, order, columns);
}

}  // namespace matapprox::cuda
