#include <utility>

#include "backends/cuda/card_factors.hpp"
#include "backends/cuda/kernels/block_layout.hpp"
#include "backends/cuda/kernels/chord_chain.hpp"
#include "backends/cuda/kernels/kernel_tiles.hpp"

// Factors whose products are kernels of our own.
namespace matapprox::cuda {
namespace {

class DiagonalFactor final : public CardFactor {
 public:
  DiagonalFactor(const DeviceQueue& queue, const HostDiagonal& factor)
      : queue_(queue), values_(copied(queue, factor.values, factor.size)) {}

  Index rows() const override { return values_.size(); }
  Index cols() const override { return values_.size(); }
  double* multiply(double* x, double* y, Index columns, bool) const override {
    queue_.run(ScaleRows<double>{values_.data(), x, y, values_.size(), columns});
    return y;
  }

 private:
  const DeviceQueue& queue_;
  DeviceArray<double> values_;
};

class ChordCardFactor final : public CardFactor {
 public:
  ChordCardFactor(const DeviceQueue& queue, const HostChord& factor)
      : chain_(queue, ChordShape{factor.order, factor.offsets}),
        values_(queue.array<double>(chain_.shape().stored_numbers())) {
    const auto rows = copied(queue, factor.values, values_.size());
    chain_.to_device_layout(rows.data(), values_.data());
    queue.wait();  // `rows` ends here
  }

  Index rows() const override { return chain_.shape().order; }
  Index cols() const override { return chain_.shape().order; }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    return chain_.apply(values_.data(), x, y, columns, transposed);
  }

 private:
  ChordChain<double, DeviceQueue> chain_;
  DeviceArray<double> values_;
};

class KernelCardFactor final : public CardFactor {
 public:
  KernelCardFactor(const DeviceQueue& queue, const HostKernel& factor)
      : count_(factor.count),
        coordinates_(copied(queue, factor.points, factor.count * factor.dimension)),
        matrix_(queue, {factor.count, factor.dimension, coordinates_.data()}, factor.formula) {}

  Index rows() const override { return count_; }
  Index cols() const override { return count_; }
  double* multiply(double* x, double* y, Index columns, bool) const override {
    matrix_.multiply(x, y, columns);
    return y;
  }
  void kernel_columns(const Index* J, Index count, double* out) const override {
    matrix_.columns(J, count, out);
  }

 private:
  Index count_;
  DeviceArray<double> coordinates_;
  KernelMatrix<double, DeviceQueue> matrix_;
};

}  // namespace

void CardFactor::kernel_columns(const Index*, Index, double*) const {
  throw DeviceError("columns of a factor that is no kernel matrix", cudaErrorInvalidValue);
}

std::unique_ptr<CardFactor> make_diagonal_factor(const DeviceQueue& queue,
                                                 const HostDiagonal& factor) {
  return std::make_unique<DiagonalFactor>(queue, factor);
}

std::unique_ptr<CardFactor> make_chord_factor(const DeviceQueue& queue, const HostChord& factor) {
  return std::make_unique<ChordCardFactor>(queue, factor);
}

std::unique_ptr<CardFactor> make_kernel_factor(const DeviceQueue& queue, const HostKernel& factor) {
  return std::make_unique<KernelCardFactor>(queue, factor);
}

}  // namespace matapprox::cuda
