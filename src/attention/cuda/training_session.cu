#include "attention/cuda/kernels/training_memory.hpp"
#include "attention/cuda/training_session.hpp"
#include "device/cuda/gpu_errors.hpp"
#include "device/cuda/kernels/cublas_functions.hpp"
#include "device/cuda/kernels/device_memory.hpp"
#include "device/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {
namespace {

/// Calls a function in on_gpu(). Also throws NotAvailable for a model whose shape no GPU supports.
struct InTraining {
  template <class Function>
  auto operator()(const Function& function) const {
    try {
      return on_gpu("training on a GPU", function);
    } catch (const std::invalid_argument& error) {
      throw NotAvailable(error.what());
    }
  }
};

}  // namespace

std::unique_ptr<TrainingSession> make_gpu_session(const ModelShape& model,
                                                  const StepSettings& settings) {
  return InTraining()([&]() -> std::unique_ptr<TrainingSession> {
    if (const std::string why = why_no_room(model, settings, device_memory().free); !why.empty())
      throw NotAvailable(why);
    cublas_functions();  // a missing cuBLAS is reported here, not in the first step
    return std::make_unique<TrainingSessionOn<DeviceQueue, InTraining>>(model, settings);
  });
}

}  // namespace matapprox::cuda
