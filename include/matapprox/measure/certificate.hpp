#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// Norm of the error for which a certificate is requested.
enum class CertifiedNorm {
  kFrobenius,  ///< and, from the same products, the spectral norm
  kSpectral,   ///< only this norm: as all of delta is spent on it, the bound is some 3 % smaller
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

/// An upper bound of a norm, and the probability with which it holds.
struct CertifiedBound {
  double value = 0;
  double confidence = 1;  ///< 1: no probes were needed, `value` is the norm up to rounding
};

/// Upper bounds of the error of B that hold with a stated confidence, for any A and B.
struct Certificate {
  CertifiedNorm norm = CertifiedNorm::kFrobenius;  ///< the requested norm
  std::optional<CertifiedBound> frobenius;         ///< |A - B|_F <= value
  std::optional<CertifiedBound> spectral;          ///< |A - B|_2 <= value
  /// frobenius over |A|_F; empty if |A|_F is itself an estimate, or 0.
  std::optional<double> relative;
  /// Allowance of the bounds for rounding, as a norm: the possible error of a product of A - B with
  /// a unit or a standard normal vector. 0 if an error from all columns was used instead.
  double rounding = 0;
  Index products = 0;  ///< number of products with A - B or its transpose, one vector each
  double passes = 0;   ///< passes over A: a product with a block is one
};

/// Certifies the error E = A - B (m x n) from products with random vectors only. The confidence
/// refers to these vectors, drawn from options.seed in a stream that no method uses: A and B are
/// fixed before. Each of several certificates holds with its own confidence; all k of them hold at
/// once with confidence 1 - k delta.
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
/// For kSpectral, step 4 is omitted and delta is not halved. If min(m, n) <= 40, all columns (or
/// rows) are multiplied instead and both norms are known: confidence 1.
///
/// The bounds refer to A and B as the operators multiply. They include rounding as long as a
/// product of either with a unit or a standard normal vector has an error of at most 4 u max(m, n)
/// |A|_F, u = 2^-53, or of the observed disagreement between products with E and E^T; sums in any
/// order satisfy this with room to spare. Underflow is not covered.
///
/// Cost: 40 products with A - B, in 5 passes, and about 1000 (m + n) multiplications; fewer for
/// small matrices. Memory: four blocks of 8 columns. Results are bit-identical for any number of
/// threads. Throws InvalidArgument if shapes differ or the confidence is outside 0..1,
/// NumericalError for NaN, Inf or an overflow, Interrupted if control stops it.
Certificate certify(const LinearOperator& A,
                    const LinearOperator& B,
                    const CertificateOptions& options = {},
                    const RunControl& control = {});

}  // namespace matapprox
