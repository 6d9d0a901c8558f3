#pragma once

#include <memory>
#include <utility>

#include "device/chord_objective.hpp"
#include "device/cuda/gpu_space.hpp"
#include "device/gpu_factors.hpp"

namespace matapprox::cuda {

/// The objective of a fit on a GPU. Panels take at most a quarter of the GPU's free memory. A
/// target from the host is copied as a whole if all columns are requested and it takes at most half
/// of it.
template <class Gpu>
class GpuChordObjective final : public DeviceChordObjective {
 public:
  GpuChordObjective(std::shared_ptr<const GpuSpace<Gpu>> space,
                    const ChordPattern& pattern,
                    Index max_columns,
                    const ChordTarget& target)
      : GpuChordObjective(std::move(space),
                          {pattern.order, pattern.offsets, target.symmetrized},
                          max_columns,
                          gpu_chord_target(target)) {}

  const std::shared_ptr<const MemorySpace>& space() const override { return space_; }

  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    const auto count = static_cast<Index>(J.size());
    if (counter_ != nullptr) counter_->add_columns(count);
    return gpu_.alone([&] { return fit_.evaluate(J.data(), count, values, gradient); });
  }

 private:
  using Fit = ChordFit<typename Gpu::Queue>;

  GpuChordObjective(std::shared_ptr<const GpuSpace<Gpu>> space,
                    const ChordShape& shape,
                    Index max_columns,
                    const GpuChordTarget& target)
      : gpu_(space->gpu()),
        space_(std::move(space)),
        counter_(target.counter),
        fit_(make_fit(gpu_, shape, max_columns, target.source)) {}

  static Fit make_fit(const Gpu& gpu,
                      const ChordShape& shape,
                      Index max_columns,
                      const ChordSource& source) {
    const Index free = gpu.free_bytes();
    const bool whole = max_columns >= shape.order && shape.order <= free / 16 / shape.order;
    return Fit(gpu.queue(),
               shape,
               max_columns,
               free / 4,
               make_target_panels(gpu.queue(), shape.order, source, whole));
  }

  const Gpu& gpu_;
  std::shared_ptr<const MemorySpace> space_;
  const CountedOperator* counter_;
  Fit fit_;
};

}  // namespace matapprox::cuda
