#pragma once

#include <string>

namespace matapprox {

/// Makes the BLAS use this CPU's instructions if it selected kernels for an older core (OpenBLAS
/// 0.3.21 selects Prescott for recent Xeons, OpenMathLib/OpenBLAS#4267). Call it first in `main`,
/// before any BLAS call and while only one thread runs: OpenBLAS selects its kernels again. Does
/// nothing if the selection was right, on another BLAS, and if OPENBLAS_CORETYPE is set.
void configure_blas();

/// Description of this process's BLAS.
struct BlasInfo {
  std::string library;  ///< "OpenBLAS 0.3.21"
  std::string core;     ///< core of its kernels, "Zen" or "Prescott"; empty for another BLAS
  bool core_was_repaired = false;  ///< configure_blas() selected another core
};
BlasInfo blas_info();

namespace kernels {

/// Number of threads of OpenBLAS; 1 for another BLAS.
int blas_threads();

/// Throws NotAvailable if there is no room for another work buffer of OpenBLAS, 128 MiB of address
/// space for each thread that calls it: OpenBLAS 0.3.21 would search for one forever, without a
/// message. Does nothing for another BLAS.
void require_blas_buffer();

}  // namespace kernels

}  // namespace matapprox
