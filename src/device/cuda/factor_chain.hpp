#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "device/cuda/gpu_operator.hpp"
#include "device/cuda/kernels/block_layout.hpp"

namespace matapprox::cuda {

/// One factor's numbers in the memory of a queue. Blocks are row-major without gaps.
class GpuFactor {
 public:
  virtual ~GpuFactor() = default;
  GpuFactor(const GpuFactor&) = delete;
  GpuFactor(GpuFactor&&) = delete;
  GpuFactor& operator=(const GpuFactor&) = delete;
  GpuFactor& operator=(GpuFactor&&) = delete;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  /// F X or F^T X. May overwrite x, which has room for the result as y has; returns where it is.
  virtual double* multiply(double* x, double* y, Index columns, bool transposed) const = 0;
  /// out = F(:, J), column-major; J and out belong to the queue. Of a kernel matrix alone.
  virtual void kernel_columns(const Index* /*J*/, Index /*count*/, double* /*out*/) const {
    throw std::logic_error("cuda: columns of a factor that is no kernel matrix");
  }

 protected:
  GpuFactor() = default;
};

struct PlacedFactor {
  std::shared_ptr<const GpuFactor> factor;
  bool transposed = false;
};

/// n numbers of the host in an array of the queue.
template <class T, class Queue>
auto copied(const Queue& queue, const T* host, Index count) {
  auto array = queue.template array<T>(count);
  if (count > 0) queue.upload(host, count, array.data());
  return array;
}

/// The factors of `links`; make(factor) is the one of a HostFactor.
template <class Make>
std::vector<PlacedFactor> placed_factors(const std::vector<DeviceFactor>& links, const Make& make) {
  std::vector<PlacedFactor> factors;
  for (const DeviceFactor& link : links) {
    std::shared_ptr<const GpuFactor> factor;
    if (link.same_as >= 0) {
      factor = factors[static_cast<std::size_t>(link.same_as)].factor;
    } else {
      factor = std::visit(make, link.factor);
    }
    factors.push_back({std::move(factor), link.transposed});
  }
  return factors;
}

/// F_1 ... F_p, or (Z + Z^T)/2: blocks of the host in and out, column-major; on the way they are
/// row-major blocks of the queue. `room` is how many numbers they may take there: wider blocks go
/// in pieces of whole columns, at least one.
template <class Queue>
class FactorChain {
 public:
  FactorChain(const Queue& queue, std::vector<PlacedFactor> factors, bool symmetrized)
      : queue_(queue), factors_(std::move(factors)), symmetrized_(symmetrized) {
    for (const PlacedFactor& placed : factors_)
      longest_ = std::max({longest_, placed.factor->rows(), placed.factor->cols()});
  }

  const GpuFactor& front() const { return *factors_.front().factor; }

  void apply(bool transposed,
             Index columns,
             const double* x,
             Index x_stride,
             double* y,
             Index y_stride,
             Index room) const {
    for_pieces(columns, room / block_numbers(), [&](Index first, Index count) {
      apply_piece(
          transposed, count, x + first * x_stride, x_stride, y + first * y_stride, y_stride);
    });
  }

  /// The same for blocks of the queue, column-major without gaps.
  void apply_in_place(
      bool transposed, Index columns, const double* x, double* y, Index room) const {
    for_pieces(columns, room / block_numbers(), [&](Index first, Index count) {
      auto a = queue_.template array<double>(longest_ * count);
      auto b = queue_.template array<double>(longest_ * count);
      const Index in = transposed ? rows() : cols();
      const Index out = transposed ? cols() : rows();
      queue_.run(BlockTranspose<double>{x + first * in, a.data(), in, count});
      const double* result = multiply_block(transposed, count, a.data(), b.data());
      queue_.run(BlockTranspose<double>{result, y + first * out, count, out});
    });
  }

  void kernel_columns(std::span<const Index> J, double* y, Index y_stride, Index room) const {
    const GpuFactor& kernel = front();
    const Index n = kernel.rows();
    for_pieces(static_cast<Index>(J.size()), room / n, [&](Index first, Index count) {
      const auto chosen = copied(queue_, J.data() + first, count);
      auto out = queue_.template array<double>(n * count);
      kernel.kernel_columns(chosen.data(), count, out.data());
      download(out.data(), n, count, y + first * y_stride, y_stride);
    });
  }

 private:
  /// body(first, count) for at most `width` columns at a time.
  template <class Body>
  static void for_pieces(Index columns, Index width, const Body& body) {
    width = std::max<Index>(width, 1);
    for (Index first = 0; first < columns; first += width)
      body(first, std::min(width, columns - first));
  }

  Index rows() const {
    const PlacedFactor& first = factors_.front();
    return first.transposed ? first.factor->cols() : first.factor->rows();
  }
  Index cols() const {
    const PlacedFactor& last = factors_.back();
    return last.transposed ? last.factor->rows() : last.factor->cols();
  }

  void apply_piece(bool transposed,
                   Index columns,
                   const double* x,
                   Index x_stride,
                   double* y,
                   Index y_stride) const {
    const Index in = transposed ? rows() : cols();
    const Index out = transposed ? cols() : rows();
    auto a = queue_.template array<double>(longest_ * columns);
    auto b = queue_.template array<double>(longest_ * columns);
    upload(x, in, columns, x_stride, b.data());
    queue_.run(BlockTranspose<double>{b.data(), a.data(), in, columns});
    double* result = multiply_block(transposed, columns, a.data(), b.data());
    double* other = result == a.data() ? b.data() : a.data();
    // A row-major block is its transpose, column-major.
    queue_.run(BlockTranspose<double>{result, other, columns, out});
    download(other, out, columns, y, y_stride);
  }

  /// Numbers on the way for each column: two blocks, and two more where the product and its
  /// transpose are averaged.
  Index block_numbers() const { return (symmetrized_ ? 4 : 2) * longest_; }

  /// The whole product with the row-major block x, in one of the two arrays.
  double* multiply_block(bool transposed, Index columns, double* x, double* y) const {
    if (!symmetrized_) return multiply(x, y, columns, transposed);
    const Index size = rows() * columns;
    auto kept = queue_.template array<double>(longest_ * columns);
    auto spare = queue_.template array<double>(longest_ * columns);
    queue_.copy(x, size, kept.data());
    double* result = multiply(x, y, columns, false);
    const double* mirrored = multiply(kept.data(), spare.data(), columns, true);
    queue_.run(Average<double>{mirrored, result, size});
    return result;
  }

  /// The product of all factors with x, in one of the two arrays.
  double* multiply(double* x, double* y, Index columns, bool transposed) const {
    const std::size_t count = factors_.size();
    for (std::size_t step = 0; step < count; ++step) {
      const PlacedFactor& next = factors_[transposed ? step : count - 1 - step];
      const double* result = next.factor->multiply(x, y, columns, next.transposed != transposed);
      if (result == y) std::swap(x, y);
    }
    return x;
  }

  void upload(const double* x, Index rows, Index columns, Index stride, double* to) const {
    if (stride == rows) return queue_.upload(x, rows * columns, to);
    for (Index c = 0; c < columns; ++c) queue_.upload(x + c * stride, rows, to + c * rows);
  }
  void download(const double* from, Index rows, Index columns, double* y, Index stride) const {
    if (stride == rows) return queue_.download(from, rows * columns, y);
    for (Index c = 0; c < columns; ++c) queue_.download(from + c * rows, rows, y + c * stride);
  }

  const Queue& queue_;
  std::vector<PlacedFactor> factors_;
  bool symmetrized_;
  Index longest_ = 1;
};

}  // namespace matapprox::cuda
