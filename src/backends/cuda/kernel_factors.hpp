#pragma once

#include "backends/cuda/factor_chain.hpp"
#include "backends/cuda/kernels/chord_chain.hpp"
#include "backends/cuda/kernels/gemm.hpp"
#include "backends/cuda/kernels/kernel_tiles.hpp"

// Factors whose products are those of a queue: on a card and on the host.
namespace matapprox::cuda {

template <class Queue>
class DenseFactor final : public CardFactor {
 public:
  DenseFactor(const Queue& queue, const HostDense& factor)
      : queue_(queue),
        rows_(factor.rows),
        cols_(factor.cols),
        values_(copied(queue, factor.values, factor.rows * factor.cols)) {}

  Index rows() const override { return rows_; }
  Index cols() const override { return cols_; }
  /// The numbers are column-major, so row-major they are F^T.
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    Gemm<double> gemm = product(transposed ? cols_ : rows_,
                                columns,
                                transposed ? rows_ : cols_,
                                values_.data(),
                                rows_,
                                x,
                                columns,
                                y,
                                columns);
    gemm.transpose_a = !transposed;
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
class DiagonalFactor final : public CardFactor {
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
class ChainFactor final : public CardFactor {
 public:
  ChainFactor(const Queue& queue, const HostChord& factor)
      : chain_(queue, ChordShape{factor.order, factor.offsets}),
        values_(queue.template array<double>(chain_.shape().stored_numbers())) {
    const auto rows = copied(queue, factor.values, values_.size());
    chain_.to_device_layout(rows.data(), values_.data());
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

template <class Queue>
class KernelFactor final : public CardFactor {
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
