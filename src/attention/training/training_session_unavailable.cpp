#include "attention/cuda/training_session.hpp"
#include "matapprox/core/error.hpp"

// Built in place of attention/cuda/training_session.cu if CUDA is left out.
namespace matapprox::cuda {

std::unique_ptr<TrainingSession> make_gpu_session(const ModelShape& /*model*/,
                                                  const StepSettings& /*settings*/) {
  throw NotAvailable(
      "training on a GPU: this build has no CUDA; install the CUDA toolkit and configure it with "
      "-DMATAPPROX_WITH_CUDA=ON, or use --device cpu");
}

}  // namespace matapprox::cuda
