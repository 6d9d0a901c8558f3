#pragma once

#include <string>

#include "matapprox/kernels/blas.hpp"

namespace matapprox::kernels {

// What OpenBLAS offers beside BLAS, looked up at run time: the program also runs on another BLAS.

/// Looks for it in the library of that handle of dlopen and in what this needs, from now on; its
/// choice of a core is not ours to change then. Call before anything else.
void look_for_open_blas(void* library);

/// True if the BLAS in this process is OpenBLAS.
bool blas_is_open_blas();
/// "OpenBLAS 0.3.21", or "BLAS" if the library does not say what it is.
std::string blas_library_name();
/// The CPU core whose kernels OpenBLAS uses; empty for another BLAS.
std::string blas_core();
void set_blas_threads(int count);

/// The OpenBLAS core for this CPU, "SkylakeX" or "Haswell", if `core`, the one in use, lacks
/// the vector instructions that the CPU has; empty if `core` is good enough.
std::string better_blas_core(const std::string& core);
/// Starts OpenBLAS's choice of kernels again with the given core. False, and nothing changed, if
/// this library cannot do that. Call while only one thread runs.
bool restart_blas_with_core(const std::string& core);
/// configure_blas() whatever OPENBLAS_CORETYPE says; true if another core was taken.
bool repair_blas_core();

/// Keeps the BLAS at one thread while any of these lives, on whatever thread; the last one gives
/// back the number that the first one found.
class SingleBlasThread {
 public:
  /// Throws NotAvailable as require_blas_buffer() does.
  SingleBlasThread();
  ~SingleBlasThread();
  SingleBlasThread(const SingleBlasThread&) = delete;
  SingleBlasThread& operator=(const SingleBlasThread&) = delete;
};

}  // namespace matapprox::kernels
