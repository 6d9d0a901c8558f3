#include <variant>

#include "device/gpu_factors.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

/// Returns the compressed columns of A: the compressed rows of its transpose.
cuda::HostSparse compressed_columns(const cuda::HostSparsePair& A) {
  return A.transposed.row_starts == nullptr ? A.matrix : A.transposed;
}

}  // namespace

GpuChordTarget gpu_chord_target(const ChordTarget& target) {
  GpuChordTarget result;
  const bool is_kernel = kernel_matrix(target.matrix) != nullptr;
  const bool is_sparse = sparse_values(target.matrix) != nullptr;
  if ((is_kernel || is_sparse) && !target.ordered) {
    result.factors = gpu_factors(target.matrix.underlying());
    result.counter = counter_of(target.matrix);
    const cuda::HostFactor& factor = result.factors.factors.front().factor;
    if (is_kernel) {
      result.source = cuda::ChordKernel{std::get<cuda::HostKernel>(factor), target.unit};
    } else {
      result.source = cuda::ChordSparse{compressed_columns(std::get<cuda::HostSparsePair>(factor)),
                                        target.unit};
    }
  } else {
    result.source = [columns = target.columns](const Index* J, Index count, double* panel) {
      columns({J, static_cast<std::size_t>(count)}, panel);
    };
  }
  return result;
}

}  // namespace matapprox
