#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// The norm of the error that a certificate is asked for.
enum class CertifiedNorm {
  kFrobenius,  ///< and, from the same products, the spectral norm
  kSpectral,   ///< alone: all of delta is spent on it, which makes the bound some 3 % smaller
};

template <>
struct EnumNames<CertifiedNorm> {
  static constexpr std::array<std::string_view, 2> values{"frobenius", "spectral"};
};

struct CertificateOptions {
  CertifiedNorm norm = CertifiedNorm::kFrobenius;
  double confidence = 0.99;  ///< 1 - delta, strictly between 0 and 1
  std::uint64_t seed = 1;
  /// Throws InvalidArgument for a confidence out of its range.
  void check() const;
};

/// A number that a norm is at most, and the probability with which that is true.
struct CertifiedBound {
  double value = 0;
  double confidence = 1;  ///< 1: no probes were needed, `value` is the norm to rounding
};

/// Upper bounds of the error of B that hold with a stated confidence, whatever A and B are.
struct Certificate {
  CertifiedNorm norm = CertifiedNorm::kFrobenius;  ///< as asked for
  std::optional<CertifiedBound> frobenius;         ///< |A - B|_F <= value
  std::optional<CertifiedBound> spectral;          ///< |A - B|_2 <= value
  /// frobenius over |A|_F; empty where |A|_F is an estimate itself, or 0.
  std::optional<double> relative;
  /// What the bounds allow for rounding, as a norm: how far a product of A - B with a unit or a
  /// standard normal vector may be off. 0 where an error from all columns took its place.
  double rounding = 0;
  Index products = 0;  ///< with A - B or its transpose, one vector each
  double passes = 0;   ///< over A: a product with a block is one
};

/// Certifies the error E = A - B (m x n) from products with random vectors alone. The confidence is
/// over these vectors, drawn from options.seed in a stream that no method reads: A and B are fixed
/// before. Of several certificates each holds with its own confidence; all k of them at once with
/// 1 - k delta.
///
///   1. Q = orth(E Omega), 8 columns; the error in its range is known, Q^T E, the rest is
///      F = (I - Q Q^T) E.
///   2. S = sum |F w_i|^2 and T = sum |F F^T F w_i|^2 over 8 standard normal w_i.
///   3. |F|_2 <= beta, beta^6 = T / q_8, where q_d is the quantile of chi-squared with d degrees of
///      freedom at delta / 2.
///   4. |F|_F^2 <= the largest x with x <= S d / (8 q_d), d = max(8, floor(8 x / beta^2))
///      [RS15, Hal24].
///   5. |E|_F^2 <= |Q^T E|_F^2 + x, |E|_2^2 <= |Q^T E|_2^2 + min(beta^2, x).
///
/// src/measure/certificate.cpp has the proofs. Both bounds hold at once with the stated confidence.
/// For kSpectral step 4 is left out, and delta is not halved. With min(m, n) <= 40 all columns (or
/// rows) are multiplied instead, and both norms are known: confidence 1.
///
/// The bounds are those of A and B as the operators multiply, rounding included as long as a
/// product of either with a unit or a standard normal vector is off by at most 4 u max(m, n) |A|_F,
/// u = 2^-53, or by what products with E and E^T are seen to disagree: sums in any order are, with
/// room to spare. What underflows is not covered.
///
/// Cost: 40 products with A - B, in 5 passes, and about 1000 (m + n) multiplications; fewer for
/// small matrices. Memory: four blocks of 8 columns. The same bits for any number of threads.
/// Throws InvalidArgument if shapes differ or the confidence is outside 0..1, NumericalError for
/// NaN, Inf or an overflow, Interrupted if control stops it.
Certificate certify(const LinearOperator& A,
                    const LinearOperator& B,
                    const CertificateOptions& options = {},
                    const RunControl& control = {});

}  // namespace matapprox
