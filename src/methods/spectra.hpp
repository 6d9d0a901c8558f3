#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Which end of the spectrum is wanted.
enum class SpectrumEnd { kLargestMagnitude, kLargest };

/// A symmetric matrix of order n, as Spectra sees it: y = A x.
struct SymmetricProduct {
  Index order = 0;
  std::function<void(const Vector& x, Vector& y)> multiply;
  /// If positive: with (x1; x2) of value t, x1 this long, (x1; -x2) of value -t is an eigenvector.
  Index mirror = 0;
};

/// What Spectra found: `values` in the order of the wanted end, orthonormal `vectors` as columns.
struct SpectraEigenpairs {
  Vector values;
  Matrix vectors;
  Index products = 0;      ///< with A, all runs together
  bool all_copies = true;  ///< false: copies of repeated values may be missing
};

/// The `count` leading eigenpairs of a symmetric matrix, 1 <= count <= n, by Spectra's implicitly
/// restarted Lanczos method [CRS94] from random starts of the seed. Spectra's vectors are taken and
/// its values are not: a pair counts if its own residual is at most 10 `tolerance` |theta|, or
/// 1e-13 of the largest found with it or 1e-14 of the largest of all; fewer come back where some do
/// not. Values far below the leading one are looked for without it. A Krylov space of one vector
/// holds one copy of a repeated value (of others only what rounding brings in), so the leading pair
/// of A without those found is then computed, and takes its place among them if it belongs there,
/// until it does not. Where the spaces would hold nearly all there is, n <= 2 count + 20, all is
/// decomposed by LAPACK instead. Memory (4 count + 20) n numbers. Throws Interrupted, saying
/// `method`, if it is stopped; NotAvailable in a build without MATAPPROX_WITH_SPECTRA; what the
/// product throws.
SpectraEigenpairs spectra_eigenpairs(const SymmetricProduct& A,
                                     Index count,
                                     SpectrumEnd end,
                                     double tolerance,
                                     std::uint64_t seed,
                                     const char* method,
                                     const RunControl& control);

/// Whether this build has it.
bool spectra_is_available();

/// "1.0.1"; empty in a build without it.
std::string spectra_version();

}  // namespace matapprox
