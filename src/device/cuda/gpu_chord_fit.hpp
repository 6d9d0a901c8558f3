#pragma once

#include <memory>
#include <variant>

#include "device/cuda/gpu_operator.hpp"
#include "device/cuda/kernels/chord_fit.hpp"

namespace matapprox::cuda {

/// A kernel matrix over a unit.
struct ChordKernel {
  HostKernel matrix;
  double unit = 1;
};
/// A sparse matrix over a unit, as the compressed rows of its transpose.
struct ChordSparse {
  HostSparse columns;
  double unit = 1;
};
/// Where columns of a target come from: from the host, or from what is copied to the GPU when the
/// fit is made.
using ChordSource = std::variant<TargetColumns, ChordKernel, ChordSparse>;

/// ChordFit on a GPU, behind a wall: what includes this needs no CUDA compiler. One thread at a
/// time; all functions throw NotAvailable if the GPU fails or is full.
class GpuChordFit {
 public:
  virtual ~GpuChordFit() = default;
  GpuChordFit(const GpuChordFit&) = delete;
  GpuChordFit(GpuChordFit&&) = delete;
  GpuChordFit& operator=(const GpuChordFit&) = delete;
  GpuChordFit& operator=(GpuChordFit&&) = delete;

  /// The memory that values and gradients lie in.
  virtual std::shared_ptr<const GpuBlocks> blocks() const = 0;
  /// As ChordFit.
  virtual double evaluate(const Index* columns,
                          Index count,
                          const double* values,
                          double* gradient) = 0;

 protected:
  GpuChordFit() = default;
};

/// On the first GPU; a target from the host is copied there as a whole if it takes at most half of
/// the free memory and most_columns is the order.
std::unique_ptr<GpuChordFit> make_gpu_chord_fit(const ChordShape& shape,
                                                Index most_columns,
                                                const ChordSource& source);

}  // namespace matapprox::cuda
