#pragma once

#include <cusparse.h>

#include <string>

namespace matapprox::cuda {

/// The cuSPARSE functions in use, by their address in the loaded library.
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

/// Returns the functions of cuSPARSE, as cublas_functions() does for cuBLAS. Each library is loaded
/// on first use: loading takes a tenth of a second and hundreds of megabytes of address space, and
/// a program that never uses a GPU must run without it. Throws NotAvailable, naming the file, if it
/// cannot be loaded.
const CusparseLibrary& cusparse_library();

}  // namespace matapprox::cuda
