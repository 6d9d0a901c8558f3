#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "device/cuda/gpu_blocks.hpp"
#include "device/cuda/kernels/kernel_formula.hpp"

// Operators on the GPU as raw numbers: between what knows matrices and what knows CUDA.
namespace matapprox::cuda {

using Index = std::int64_t;

// Numbers of the host, which are copied to the GPU; matrices are column-major without gaps.
struct HostDense {
  Index rows = 0;
  Index cols = 0;
  const double* values = nullptr;
};
/// Compressed rows. Products with the transpose take a second set of compressed rows, unless it is
/// the same.
struct HostSparse {
  Index rows = 0;
  Index cols = 0;
  const Index* row_starts = nullptr;
  const Index* columns = nullptr;
  const double* values = nullptr;
  Index stored() const { return row_starts[rows]; }
};
struct HostSparsePair {
  HostSparse matrix;
  HostSparse transposed;  ///< `row_starts` is null for a symmetric matrix
};
struct HostDiagonal {
  Index size = 0;
  const double* values = nullptr;
};
/// P(i, sources[i]) = 1.
struct HostPermutation {
  Index size = 0;
  const Index* sources = nullptr;
};
struct HostChord {
  Index order = 0;
  std::vector<std::vector<Index>> offsets;
  const double* values = nullptr;  ///< factor after factor, each row after row
  /// 0: the values are copied to the GPU. Else they stay where they are, and products send them
  /// through the GPU in pieces of at most so many numbers.
  Index piece_numbers = 0;
};
struct HostKernel {
  Index count = 0;
  int dimension = 0;
  const double* points = nullptr;  ///< count x dimension
  KernelFormula<double> formula;
};
using HostFactor =
    std::variant<HostDense, HostSparsePair, HostDiagonal, HostPermutation, HostChord, HostKernel>;

struct DeviceFactor {
  HostFactor factor;
  bool transposed = false;
  Index same_as = -1;  ///< the earlier link that has the same numbers, which are held once
};

/// The tall matrices of a partial Cholesky factorization K ~ F F^T of a kernel matrix, on the GPU;
/// matrices of the host are column-major without gaps. All functions throw NotAvailable if the GPU
/// fails.
class GpuCholesky {
 public:
  virtual ~GpuCholesky() = default;
  GpuCholesky(const GpuCholesky&) = delete;
  GpuCholesky(GpuCholesky&&) = delete;
  GpuCholesky& operator=(const GpuCholesky&) = delete;
  GpuCholesky& operator=(GpuCholesky&&) = delete;

  /// Columns of F so far.
  virtual Index kept() const = 0;
  /// Makes K(:, S); own = K(S, S).
  virtual void propose(std::span<const Index> S, double* own) = 0;
  /// out = F(S, :), |S| x kept().
  virtual void factor_rows(std::span<const Index> S, double* out) const = 0;
  /// Keeps the proposed columns at `positions`, K(:, T): F grows by G = (K(:, T) - F F_T^T) M, and
  /// squares(i) is |G(i, :)|^2. F_T is |T| x kept(), M |T| x |T|.
  virtual void accept(std::span<const Index> positions,
                      const double* F_T,
                      const double* M,
                      double* squares) = 0;
  /// The columns that were kept, N x kept().
  virtual void download_columns(double* out) const = 0;

 protected:
  GpuCholesky() = default;
};

/// F_1 F_2 ... F_p, or (Z + Z^T)/2 with Z that product, on the GPU. All functions may be called
/// from several threads, which then wait for each other; all throw NotAvailable if the GPU fails.
class GpuOperator {
 public:
  virtual ~GpuOperator() = default;
  GpuOperator(const GpuOperator&) = delete;
  GpuOperator(GpuOperator&&) = delete;
  GpuOperator& operator=(const GpuOperator&) = delete;
  GpuOperator& operator=(GpuOperator&&) = delete;

  /// Y = A X or A^T X, blocks of the host: column-major, with distances of columns.
  virtual void apply(bool transposed,
                     Index columns,
                     const double* x,
                     Index x_stride,
                     double* y,
                     Index y_stride) const = 0;
  /// The memory that this operator is in.
  virtual std::shared_ptr<const GpuBlocks> blocks() const = 0;
  /// The same for blocks that lie there, without gaps.
  virtual void apply_in_place(bool transposed, Index columns, const double* x, double* y) const = 0;
  /// Y = A(:, J) of a single kernel factor.
  virtual void kernel_columns(std::span<const Index> J, double* y, Index y_stride) const = 0;
  /// Of a single kernel factor, with room for `most` columns. This operator must outlive it.
  virtual std::unique_ptr<GpuCholesky> kernel_cholesky(Index most) const = 0;

 protected:
  GpuOperator() = default;
};

/// Copies the numbers to the GPU. Throws NotAvailable if there is no GPU or no room.
std::unique_ptr<GpuOperator> make_gpu_operator(const std::vector<DeviceFactor>& links,
                                               bool symmetrized);

}  // namespace matapprox::cuda
