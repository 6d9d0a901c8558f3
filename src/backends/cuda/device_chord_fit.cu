#include "backends/cuda/device_chord_fit.hpp"
#include "backends/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {
namespace {

Index free_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "memory of the device");
  return static_cast<Index>(free);
}

bool fits_whole(const ChordShape& shape, Index most_columns, Index free) {
  return most_columns >= shape.order && shape.order <= free / 16 / shape.order;
}

}  // namespace

struct DeviceChordFit::Card {
  Card(const ChordShape& shape, Index most_columns, TargetColumns target, Index free)
      : fit(queue,
            shape,
            most_columns,
            free / 4,
            std::move(target),
            fits_whole(shape, most_columns, free)) {}
  DeviceQueue queue;
  ChordFit<DeviceQueue> fit;
};

DeviceChordFit::DeviceChordFit(const ChordShape& shape, Index most_columns, TargetColumns target)
    : card_(std::make_unique<Card>(shape, most_columns, std::move(target), free_bytes())) {}

DeviceChordFit::~DeviceChordFit() = default;

double DeviceChordFit::evaluate(const Index* columns,
                                Index count,
                                const double* values,
                                double* gradient) {
  return card_->fit.evaluate(columns, count, values, gradient);
}

}  // namespace matapprox::cuda
