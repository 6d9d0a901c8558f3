#pragma once

#include <cublas_v2.h>

namespace matapprox::cuda {

/// The cuBLAS functions in use.
struct CublasFunctions {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetWorkspace_v2) set_workspace = nullptr;
  decltype(&cublasSetAtomicsMode) set_atomics_mode = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  decltype(&cublasSgemmStridedBatched_64) sgemm = nullptr;
  decltype(&cublasDgemmStridedBatched_64) dgemm = nullptr;
};

/// Defined by the program that contains the kernels: it links cuBLAS or loads it on first use.
const CublasFunctions& cublas_functions();

}  // namespace matapprox::cuda
