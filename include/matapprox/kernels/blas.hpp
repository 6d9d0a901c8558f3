#pragma once

#include <string>

namespace matapprox {

/// Makes the BLAS use this CPU's instructions where it took an old core for it (OpenBLAS
/// 0.3.21 takes recent Xeons for a Prescott, OpenMathLib/OpenBLAS#4267). Call it first in `main`,
/// before any BLAS call and while only one thread runs: OpenBLAS chooses its kernels again. It does
/// nothing where the choice was right, on another BLAS, and where OPENBLAS_CORETYPE is set.
void configure_blas();

/// The BLAS of this process.
struct BlasInfo {
  std::string library;  ///< "OpenBLAS 0.3.21"
  std::string core;     ///< whose kernels it uses, "Zen" or "Prescott"; empty for another BLAS
  bool core_was_repaired = false;  ///< configure_blas() took another core
};
BlasInfo blas_info();

namespace kernels {

/// Number of threads of OpenBLAS; 1 for another BLAS.
int blas_threads();

/// Throws NotAvailable if there is no room for another work buffer of OpenBLAS, 128 MiB of address
/// space for each thread that calls it: it would look for one forever (0.3.21), without a message.
/// Does nothing for another BLAS.
void require_blas_buffer();

}  // namespace kernels

}  // namespace matapprox
