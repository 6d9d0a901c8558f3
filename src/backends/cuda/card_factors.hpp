#pragma once

#include <memory>

#include "backends/cuda/card_operator.hpp"
#include "backends/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {

/// One factor's numbers on the card. Blocks are row-major without gaps.
class CardFactor {
 public:
  virtual ~CardFactor() = default;
  CardFactor(const CardFactor&) = delete;
  CardFactor(CardFactor&&) = delete;
  CardFactor& operator=(const CardFactor&) = delete;
  CardFactor& operator=(CardFactor&&) = delete;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  /// F X or F^T X. May overwrite x, which has room for the result as y has; returns where it is.
  virtual double* multiply(double* x, double* y, Index columns, bool transposed) const = 0;
  /// out = F(:, J), column-major; J lies on the card. For a kernel matrix alone.
  virtual void kernel_columns(const Index* J, Index count, double* out) const;

 protected:
  CardFactor() = default;
};

// Each copies the numbers of one kind of factor to the card. The queue must outlive the factor. All
// throw DeviceError, and NotAvailable if a library is missing.
std::unique_ptr<CardFactor> make_dense_factor(const DeviceQueue& queue, const HostDense& factor);
std::unique_ptr<CardFactor> make_sparse_factor(const DeviceQueue& queue,
                                               const HostSparsePair& factor);
std::unique_ptr<CardFactor> make_diagonal_factor(const DeviceQueue& queue,
                                                 const HostDiagonal& factor);
std::unique_ptr<CardFactor> make_chord_factor(const DeviceQueue& queue, const HostChord& factor);
std::unique_ptr<CardFactor> make_kernel_factor(const DeviceQueue& queue, const HostKernel& factor);

/// n numbers of the host in an array of the card.
template <class T>
DeviceArray<T> copied(const DeviceQueue& queue, const T* host, Index count) {
  auto array = queue.array<T>(count);
  if (count > 0) queue.upload(host, count, array.data());
  return array;
}

}  // namespace matapprox::cuda
