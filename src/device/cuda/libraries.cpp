#include "device/cuda/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>

#include "device/cuda/kernels/cublas_functions.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::cuda {
namespace {

/// A shared library, found by the loader or in the CUDA toolkit of this build. It stays loaded: its
/// threads and its memory on the GPU may outlive this object.
class LoadedLibrary {
 public:
  LoadedLibrary(const std::string& name, int version)
      : file_(fmt::format("lib{}.so.{}", name, version)), handle_(open(file_)) {}

  template <class Function>
  void find(const char* name, Function*& function) const {
    void* address = dlsym(handle_, name);
    if (address == nullptr) throw NotAvailable(fmt::format("cuda: {} has no {}", file_, name));
    static_assert(sizeof(function) == sizeof(address));
    std::memcpy(&function, &address, sizeof(function));
  }

 private:
  static void* open(const std::string& file) {
    for (const std::string& path : {file, MATAPPROX_CUDA_LIBRARY_DIR "/" + file}) {
      if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    }
    throw NotAvailable(
        fmt::format("cuda: {} cannot be loaded; install the libraries of CUDA {}, or set "
                    "LD_LIBRARY_PATH to their folder",
                    file,
                    CUDART_VERSION / 1000));
  }

  std::string file_;
  void* handle_;
};

CublasFunctions load_cublas() {
  const LoadedLibrary library("cublas", CUBLAS_VER_MAJOR);
  CublasFunctions functions;
  library.find("cublasCreate_v2", functions.create);
  library.find("cublasDestroy_v2", functions.destroy);
  library.find("cublasSetStream_v2", functions.set_stream);
  library.find("cublasSetWorkspace_v2", functions.set_workspace);
  library.find("cublasSetAtomicsMode", functions.set_atomics_mode);
  library.find("cublasSetMathMode", functions.set_math_mode);
  library.find("cublasGetStatusString", functions.status_string);
  library.find("cublasSgemmStridedBatched_64", functions.sgemm);
  library.find("cublasDgemmStridedBatched_64", functions.dgemm);
  return functions;
}

CusparseLibrary load_cusparse() {
  const LoadedLibrary library("cusparse", CUSPARSE_VER_MAJOR);
  CusparseLibrary functions;
  library.find("cusparseCreate", functions.create);
  library.find("cusparseDestroy", functions.destroy);
  library.find("cusparseSetStream", functions.set_stream);
  library.find("cusparseGetErrorString", functions.error_string);
  library.find("cusparseCreateCsr", functions.create_csr);
  library.find("cusparseDestroySpMat", functions.destroy_sparse);
  library.find("cusparseCreateDnMat", functions.create_dense);
  library.find("cusparseDestroyDnMat", functions.destroy_dense);
  library.find("cusparseSpMM_bufferSize", functions.buffer_size);
  library.find("cusparseSpMM", functions.multiply);
  return functions;
}

}  // namespace

const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions = load_cublas();
  return functions;
}

const CusparseLibrary& cusparse_library() {
  static const CusparseLibrary library = load_cusparse();
  return library;
}

}  // namespace matapprox::cuda
