#pragma once

#include <cusparse.h>

#include <string>

namespace matapprox::cuda {

/// The functions of cuSPARSE that are used, by their address in the loaded library.
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

/// cuSPARSE, as cublas_functions() is cuBLAS: each is loaded when it is first asked for, because
/// that takes a tenth of a second and hundreds of megabytes of address space, and a program that
/// never uses a GPU shall run where it is missing. Throws NotAvailable, naming the file, if it
/// cannot be loaded.
const CusparseLibrary& cusparse_library();

}  // namespace matapprox::cuda
