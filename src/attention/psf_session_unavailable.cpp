#include "attention/cuda/psf_session.hpp"
#include "matapprox/core/error.hpp"

// Built in place of attention/cuda/psf_session.cu where CUDA is left out.
namespace matapprox::cuda {

std::unique_ptr<PsfSession> make_gpu_session(const PsfModelShape& /*model*/,
                                             const StepSettings& /*settings*/) {
  throw NotAvailable(
      "training on a GPU: this build has no CUDA; install the CUDA toolkit and configure it with "
      "-DMATAPPROX_WITH_CUDA=ON, or use --device cpu");
}

}  // namespace matapprox::cuda
