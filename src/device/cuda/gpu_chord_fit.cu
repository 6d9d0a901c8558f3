#include "device/cuda/device_blocks.hpp"
#include "device/cuda/gpu_chord_fit.hpp"
#include "device/cuda/queue_chord_fit.hpp"

namespace matapprox::cuda {
namespace {

class FitOnGpu {
 public:
  template <class Body>
  void operator()(const Body& body) const {
    one_([&] { on_gpu("chord: the fit", body); });
  }

 private:
  OneOnGpu one_;
};

using DeviceChordFit = QueueChordFit<DeviceQueue, FitOnGpu>;

}  // namespace

std::unique_ptr<GpuChordFit> make_gpu_chord_fit(const ChordShape& shape,
                                                Index most_columns,
                                                const ChordSource& source) {
  return on_gpu("chord: the fit", [&] {
    auto blocks = std::make_shared<const DeviceChordFit::Blocks>();
    return std::make_unique<DeviceChordFit>(
        std::move(blocks), shape, most_columns, source, device_memory().free);
  });
}

}  // namespace matapprox::cuda
