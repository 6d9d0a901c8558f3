#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// The end of the spectrum to compute.
enum class SpectrumEnd { kLargestMagnitude, kLargest };

/// A symmetric matrix of order n, given by its product y = A x.
struct SymmetricProduct {
  Index order = 0;
  std::function<void(const Vector& x, Vector& y)> multiply;
  /// If positive: the length of x1 such that for each eigenvector (x1; x2) of value t, (x1; -x2) is
  /// an eigenvector of value -t.
  Index mirror = 0;
};

/// Result of spectra_eigenpairs: `values` in the order of the wanted end and orthonormal `vectors`
/// as columns.
struct SpectraEigenpairs {
  Vector values;
  Matrix vectors;
  Index products = 0;      ///< number of products with A in all runs
  bool all_copies = true;  ///< false: copies of repeated values may be missing
};

/// Computes the `count` leading eigenpairs of a symmetric matrix, 1 <= count <= n, by Spectra's
/// implicitly restarted Lanczos method [CRS94] from random starts of the seed. Only Spectra's
/// vectors are used: the pairs are recomputed on their span, and a pair is accepted if its residual
/// is at most 10 `tolerance` |theta| plus rounding, which is the larger of 1e-13 times the largest
/// value found with it and 1e-14 times the largest of all. Fewer pairs are returned if others are
/// not accepted. Values far below the leading ones are computed after these have been deflated. A
/// Krylov space of one vector holds one copy of a repeated value (further copies only by rounding),
/// so the leading pair of the deflated matrix is then computed and inserted as long as it belongs
/// among those found. If the Krylov spaces would span nearly everything, n <= 2 count + 20, LAPACK
/// decomposes the whole matrix instead. Memory: (4 count + 20) n numbers. Throws Interrupted,
/// naming `method`, if it is stopped; NotAvailable in a build without MATAPPROX_WITH_SPECTRA; and
/// whatever the product throws.
SpectraEigenpairs spectra_eigenpairs(const SymmetricProduct& A,
                                     Index count,
                                     SpectrumEnd end,
                                     double tolerance,
                                     std::uint64_t seed,
                                     const char* method,
                                     const RunControl& control);

/// True if this build includes Spectra.
bool spectra_is_available();

/// Version of Spectra, such as "1.0.1"; empty in a build without it.
std::string spectra_version();

}  // namespace matapprox
