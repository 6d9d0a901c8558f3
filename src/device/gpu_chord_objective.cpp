#include "device/gpu_chord_objective.hpp"

#include <utility>
#include <variant>

#include "device/gpu_space.hpp"
#include "matapprox/device/placement.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"

namespace matapprox {
namespace {

class GpuChordObjective final : public DeviceChordObjective {
 public:
  GpuChordObjective(std::unique_ptr<cuda::GpuChordFit> fit, const CountedOperator* counter)
      : fit_(std::move(fit)), counter_(counter), place_(make_gpu_space(fit_->blocks())) {}

  const std::shared_ptr<const MemorySpace>& place() const override { return place_; }

  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    const auto count = static_cast<Index>(J.size());
    if (counter_ != nullptr) counter_->add_columns(count);
    return fit_->evaluate(J.data(), count, values, gradient);
  }

 private:
  std::unique_ptr<cuda::GpuChordFit> fit_;
  const CountedOperator* counter_;
  std::shared_ptr<const MemorySpace> place_;
};

/// Compressed columns are the compressed rows of the transpose.
cuda::HostSparse compressed_columns(const cuda::HostSparsePair& A) {
  return A.transposed.row_starts == nullptr ? A.matrix : A.transposed;
}

}  // namespace

GpuChordTarget gpu_chord_target(const ChordTarget& target) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&target.matrix);
  const LinearOperator& A = unplaced(counter == nullptr ? target.matrix : counter->inner());
  GpuChordTarget result;
  const bool is_kernel = dynamic_cast<const KernelOperator*>(&A) != nullptr;
  const bool is_sparse = dynamic_cast<const SparseOperator*>(&A) != nullptr;
  if ((is_kernel || is_sparse) && !target.ordered) {
    result.links = gpu_factors(A);
    result.counter = counter;
    const cuda::HostFactor& factor = result.links.links.front().factor;
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

cuda::ChordShape gpu_shape(const ChordPattern& pattern, bool symmetrized) {
  return {pattern.order, pattern.offsets, symmetrized};
}

std::unique_ptr<DeviceChordObjective> make_gpu_chord_objective(
    std::unique_ptr<cuda::GpuChordFit> fit, const CountedOperator* counter) {
  return std::make_unique<GpuChordObjective>(std::move(fit), counter);
}

}  // namespace matapprox
