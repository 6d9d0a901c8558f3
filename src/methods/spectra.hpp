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
};

/// What Spectra found: `values` in the order of the wanted end, orthonormal `vectors` as columns.
struct SpectraEigenpairs {
  Vector values;
  Matrix vectors;
  Index products = 0;      ///< with A, all runs together
  bool all_copies = true;  ///< false: copies of repeated values may be missing
};

/// The `count` leading eigenpairs of a symmetric matrix by Spectra's implicitly restarted Lanczos
/// method [CRS94], 1 <= count < n, from a random start of the seed, until each residual is at most
/// `tolerance` |theta|, where theta below 4e-11 of about the norm counts as that: fewer pairs come
/// back where some did not converge. A Krylov space of one vector holds one copy of a repeated
/// value (of others only what rounding brings in), so the largest value of A without the pairs
/// found is then computed, and a copy that it shows is added, until it shows none. Memory (2 count
/// + 20) n numbers. Throws Interrupted, saying `method`, if it is stopped; NotAvailable in a build
/// without MATAPPROX_WITH_SPECTRA.
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
