#include "attention/cuda/kernels/training_memory.hpp"
#include "attention/cuda/training_session.hpp"
#include "device/cuda/gpu_errors.hpp"
#include "device/cuda/kernels/cublas_functions.hpp"
#include "device/cuda/kernels/device_memory.hpp"
#include "device/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {
namespace {

/// Calls function in on_gpu(). Also throws NotAvailable for a model whose shape no GPU supports.
template <class Function>
auto in_training(const Function& function) {
  try {
    return on_gpu("training on a GPU", function);
  } catch (const std::invalid_argument& error) {
    throw NotAvailable(error.what());
  }
}

class GpuSession final : public TrainingSession {
 public:
  GpuSession(const ModelShape& model, const StepSettings& settings)
      : session_(queue_, model, settings) {}
  const ModelShape& model() const override { return session_.model(); }
  void begin(const float* parameters,
             const float* first,
             const float* second,
             Index steps,
             std::uint64_t seed) override {
    in_training([&] { session_.begin(parameters, first, second, steps, seed); });
  }
  void step(const HostBatch<float>& batch, double rate) override {
    in_training([&] { session_.step(batch, rate); });
  }
  StepStatus read_back(float* parameters, float* first, float* second) override {
    return in_training([&] { return session_.read_back(parameters, first, second); });
  }

 private:
  DeviceQueue queue_;
  TrainingSessionOn<DeviceQueue> session_;
};

}  // namespace

std::unique_ptr<TrainingSession> make_gpu_session(const ModelShape& model,
                                                  const StepSettings& settings) {
  return in_training([&]() -> std::unique_ptr<TrainingSession> {
    if (const std::string why = why_no_room(model, settings, device_memory().free); !why.empty())
      throw NotAvailable(why);
    cublas_functions();  // a missing cuBLAS is reported here, not in the first step
    return std::make_unique<GpuSession>(model, settings);
  });
}

}  // namespace matapprox::cuda
