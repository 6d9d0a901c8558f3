#pragma once

#include <string>

#include "matapprox/kernels/lapack.hpp"

namespace matapprox::kernels {

// Functions of OpenBLAS beyond BLAS, looked up at run time: the program also runs with another
// BLAS.

/// From now on uses the OpenBLAS in the library of this dlopen handle or in its dependencies; its
/// choice of a core is then left alone. Must be called before anything else.
void look_for_open_blas(void* library);

/// True if the BLAS in this process is OpenBLAS.
bool blas_is_open_blas();
/// "OpenBLAS 0.3.21", or "BLAS" if the library does not say what it is.
std::string blas_library_name();
/// The CPU core whose kernels OpenBLAS uses; empty for another BLAS.
std::string blas_core();
void set_blas_threads(int count);

/// The OpenBLAS core for this CPU, "SkylakeX" or "Haswell", if `core`, the one in use, does not use
/// the vector instructions that the CPU has; empty if `core` is good enough.
std::string better_blas_core(const std::string& core);
/// Restarts OpenBLAS's choice of kernels with the given core. Returns false, and changes nothing,
/// if this library cannot do that. Must be called while only one thread runs.
bool restart_blas_with_core(const std::string& core);
/// configure_blas(), but ignores OPENBLAS_CORETYPE. Returns true if another core was selected.
bool repair_blas_core();

/// Limits the BLAS to one thread while any object of this class exists, on any thread; the last one
/// restores the number of threads that the first one found.
class SingleBlasThread {
 public:
  /// Throws NotAvailable as require_blas_buffer() does.
  SingleBlasThread();
  ~SingleBlasThread();
  SingleBlasThread(const SingleBlasThread&) = delete;
  SingleBlasThread& operator=(const SingleBlasThread&) = delete;
};

}  // namespace matapprox::kernels
