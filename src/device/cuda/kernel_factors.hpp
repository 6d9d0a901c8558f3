#pragma once

#include <memory>
#include <utility>

#include "device/cuda/gpu_factor.hpp"
#include "device/cuda/host_factors.hpp"
#include "device/cuda/kernels/block_layout.hpp"
#include "device/cuda/kernels/chord_chain.hpp"
#include "device/cuda/kernels/chord_stream.hpp"
#include "device/cuda/kernels/gemm.hpp"
#include "device/cuda/kernels/kernel_tiles.hpp"

// Factors whose products use only a queue, on a GPU or on the host.
namespace matapprox::cuda {

template <class Queue>
class DenseFactor final : public GpuFactor {
 public:
  DenseFactor(const Queue& queue, const HostDense& factor)
      : queue_(queue),
        rows_(factor.rows),
        cols_(factor.cols),
        values_(copied(queue, factor.values, factor.rows * factor.cols)) {}

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  bool row_major() const override { return false; }
  /// Read as row-major, all three are transposed: Y^T = X^T F^T, and the stored matrix is F^T.
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    const Index in = transposed ? rows_ : cols_;
    const Index out = transposed ? cols_ : rows_;
    Gemm<double> gemm = product(columns, out, in, x, in, values_.data(), rows_, y, out);
    gemm.transpose_b = transposed;
    queue_.gemm(gemm);
    return y;
  }

 private:
  const Queue& queue_;
  Index rows_;
  Index cols_;
  decltype(std::declval<const Queue&>().template array<double>(0)) values_;
};

template <class Queue>
class DiagonalFactor final : public GpuFactor {
 public:
  DiagonalFactor(const Queue& queue, const HostDiagonal& factor)
      : queue_(queue), values_(copied(queue, factor.values, factor.size)) {}

  Index rows() const override { return values_.size(); }
  Index cols() const override { return values_.size(); }
  double* multiply(double* x, double* y, Index columns, bool /*transposed*/) const override {
    queue_.run(ScaleRows<double>{values_.data(), x, y, values_.size(), columns});
    return y;
  }

 private:
  const Queue& queue_;
  decltype(std::declval<const Queue&>().template array<double>(0)) values_;
};

template <class Queue>
class PermutationFactor final : public GpuFactor {
 public:
  PermutationFactor(const Queue& queue, const HostPermutation& factor)
      : queue_(queue), sources_(copied(queue, factor.sources, factor.size)) {}

  Index rows() const override { return sources_.size(); }
  Index cols() const override { return sources_.size(); }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    queue_.run(PermuteRows<double>{sources_.data(), x, y, sources_.size(), columns, transposed});
    return y;
  }

 private:
  const Queue& queue_;
  decltype(std::declval<const Queue&>().template array<Index>(0)) sources_;
};

template <class Queue>
class ChainFactor final : public GpuFactor {
 public:
  ChainFactor(const Queue& queue, const HostChord& factor)
      : chain_(queue, ChordShape{factor.order, factor.offsets}),
        values_(queue.template array<double>(chain_.shape().stored_numbers())) {
    const ChordShape& shape = chain_.shape();
    auto rows = queue.template array<double>(shape.order * shape.max_links());
    for (Index m = 0; m < shape.factors(); ++m) {
      const Index first = shape.first_value(m);
      queue.upload(factor.values + first, shape.order * shape.links(m), rows.data());
      chain_.factor_to_device_layout(m, rows.data(), values_.data() + first);
    }
  }

  Index rows() const override { return chain_.shape().order; }
  Index cols() const override { return chain_.shape().order; }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    return chain_.apply(values_.data(), x, y, columns, transposed);
  }

 private:
  ChordChain<double, Queue> chain_;
  decltype(std::declval<const Queue&>().template array<double>(0)) values_;
};

/// The same with the values left on the host; they must outlive the factor.
template <class Queue>
class StreamedFactor final : public GpuFactor {
 public:
  StreamedFactor(const Queue& queue, const HostChord& factor)
      : order_(factor.order),
        values_(factor.values),
        chain_(queue, ChordShape{factor.order, factor.offsets}, factor.piece_numbers) {}

  Index rows() const override { return order_; }
  Index cols() const override { return order_; }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    return chain_.apply(values_, x, y, columns, transposed);
  }

 private:
  Index order_;
  const double* values_;
  StreamedChord<double, Queue> chain_;
};

template <class Queue>
std::shared_ptr<const GpuFactor> make_chord_factor(const Queue& queue, const HostChord& factor) {
  if (factor.piece_numbers > 0) return std::make_shared<StreamedFactor<Queue>>(queue, factor);
  return std::make_shared<ChainFactor<Queue>>(queue, factor);
}

template <class Queue>
class KernelFactor final : public GpuFactor {
 public:
  KernelFactor(const Queue& queue, const HostKernel& factor)
      : count_(factor.count),
        coordinates_(copied(queue, factor.points, factor.count * factor.dimension)),
        matrix_(queue, {factor.count, factor.dimension, coordinates_.data()}, factor.formula) {}

  Index rows() const override { return count_; }
  Index cols() const override { return count_; }
  double* multiply(double* x, double* y, Index columns, bool /*transposed*/) const override {
    matrix_.multiply(x, y, columns);
    return y;
  }
  void kernel_columns(const Index* J, Index count, double* out) const override {
    matrix_.columns(J, count, out);
  }

 private:
  Index count_;
  decltype(std::declval<const Queue&>().template array<double>(0)) coordinates_;
  KernelMatrix<double, Queue> matrix_;
};

}  // namespace matapprox::cuda
