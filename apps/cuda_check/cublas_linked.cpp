#include "device/cuda/kernels/cublas_functions.hpp"

namespace matapprox::cuda {

const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions{cublasCreate_v2,
                                         cublasDestroy_v2,
                                         cublasSetStream_v2,
                                         cublasSetWorkspace_v2,
                                         cublasSetAtomicsMode,
                                         cublasSetMathMode,
                                         cublasGetStatusString,
                                         cublasSgemmStridedBatched_64,
                                         cublasDgemmStridedBatched_64};
  return functions;
}

}  // namespace matapprox::cuda
