#pragma once

#include <cublas_v2.h>
#include <cusparse.h>

#include <string>

namespace matapprox::cuda {

/// The functions of cuBLAS that are used, by their address in the loaded library.
struct CublasLibrary {
  decltype(&cublasCreate_v2) create = nullptr;
  decltype(&cublasDestroy_v2) destroy = nullptr;
  decltype(&cublasSetStream_v2) set_stream = nullptr;
  decltype(&cublasSetMathMode) set_math_mode = nullptr;
  decltype(&cublasGetStatusString) status_string = nullptr;
  decltype(&cublasDgemm_v2_64) dgemm = nullptr;
};

struct CusparseLibrary {
  decltype(&cusparseCreate) create = nullptr;
  decltype(&cusparseDestroy) destroy = nullptr;
  decltype(&cusparseSetStream) set_stream = nullptr;
  decltype(&cusparseGetErrorString) error_string = nullptr;
  decltype(&cusparseCreateCsr) create_csr = nullptr;
  decltype(&cusparseDestroySpMat) destroy_sparse = nullptr;
  decltype(&cusparseCreateDnMat) create_dense = nullptr;
  decltype(&cusparseDestroyDnMat) destroy_dense = nullptr;
  decltype(&cusparseSpMM_bufferSize) buffer_size = nullptr;
  decltype(&cusparseSpMM) multiply = nullptr;
};

// Each library is loaded when it is first asked for: it takes a tenth of a second and hundreds of
// megabytes of address space, and a program that never uses a card shall run where it is missing.
// Throws NotAvailable, naming the file, if it cannot be loaded.
const CublasLibrary& cublas_library();
const CusparseLibrary& cusparse_library();

}  // namespace matapprox::cuda
