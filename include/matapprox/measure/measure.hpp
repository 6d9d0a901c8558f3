#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

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

/// The singular values of a matrix, descending, and the share of the largest ones in the total.
struct CumulativeSpectrum {
  Vector values;
  bool centered = false;
  /// Sum of the first k values to the power `power` over the sum of all. Power 2 gives the share of
  /// the squared Frobenius norm, and of the variance if columns were centered. NaN for a zero
  /// matrix.
  double share(Index k, int power) const;
};

/// Returns all min(m, n) singular values of A, by LAPACK; with `center_columns`, of A less the mean
/// of each column, as in principal component analysis. Without centering, a matrix of positive
/// entries has a large first value that represents only its mean: three quarters of the squared
/// norm for entries uniform in 0..1. Cost: all columns of A, m n numbers, O(m n min(m, n)).
CumulativeSpectrum cumulative_spectrum(const LinearOperator& A, bool center_columns);

/// Limit on the cost of measuring.
enum class MeasureEffort {
  kNone,   ///< nothing is measured
  kQuick,  ///< about the cost of the fit: more expensive quantities are estimated or omitted
  kFull,   ///< exact up to exact_limit, else estimated by random vectors, at any cost
};

template <>
struct EnumNames<MeasureEffort> {
  static constexpr std::array<std::string_view, 3> values{"none", "quick", "full"};
};

struct MeasureOptions {
  MeasureEffort effort = MeasureEffort::kFull;
  /// Errors are exact, by column panels, if that takes fewer multiplications than this, or always
  /// with `always_exact`; otherwise they are estimated.
  double exact_limit = 1e11;
  bool always_exact = false;
  Index probes = 64;               ///< random vectors of an estimate, at least 8
  Index spectral_iterations = 30;  ///< maximum; fewer if they would exceed exact_limit; 0: none
  bool time_products = true;
  std::uint64_t seed = 1;
  /// Upper bounds of the error to certify as well, for any effort; empty: none.
  std::optional<CertificateOptions> certificate{};
};

/// Returns the options with which measuring the result of a fit takes about as long as the fit:
/// with effort kQuick, exact_limit becomes `fit_multiplications`, between 5e9 and the given limit;
/// otherwise the options are unchanged. This depends on counts and not on a clock, so that the same
/// seed gives the same figures.
MeasureOptions within_fit(MeasureOptions options, double fit_multiplications);

/// Basic properties of a matrix; none of them is guessed.
struct MatrixFacts {
  Index rows = 0;
  Index cols = 0;
  std::optional<Index> nonzeros;  ///< entries that are not 0; empty if counting is too expensive
  bool symmetric = false;
  double frobenius_norm = 0;
  bool norm_is_exact = true;
  /// 95 % confidence interval of frobenius_norm if that is an estimate.
  std::optional<std::pair<double, double>> norm_interval{};
  double averaged_asymmetry = 0;  ///< see KnownFacts
};

/// Returns the facts of A: its known facts, completed by one pass over column panels if that is
/// within options.exact_limit (5e9 multiplications with kQuick and kNone). Otherwise the norm is
/// estimated by random probes or, with these two efforts and for matrices that compute their
/// entries, from columns drawn at random. Throws NumericalError, naming row and column (counted
/// from 1), for NaN or Inf, and Interrupted if control stops it.
MatrixFacts describe(const LinearOperator& A,
                     const MeasureOptions& options = {},
                     const RunControl& control = {});

/// Data from which an error is computed.
enum class ErrorBasis {
  kExact,    ///< all columns
  kVectors,  ///< products with random vectors
  kColumns,  ///< columns drawn at random
};

template <>
struct EnumNames<ErrorBasis> {
  static constexpr std::array<std::string_view, 3> values{"exact", "vectors", "columns"};
};

/// Error of B as an approximation of A, and times of products with B. Omitted quantities are empty.
struct Measurement {
  double error_frobenius = 0;  ///< |A - B|_F
  /// error / |A|_F; for A = 0: 0 if B = 0, else empty.
  std::optional<double> relative_error;
  bool error_is_exact = true;
  ErrorBasis error_basis = ErrorBasis::kExact;
  Index error_samples = 0;  ///< random vectors or columns of an estimate; 0 if exact
  /// 95 % confidence interval of error_frobenius if that is an estimate; not a certified bound.
  std::optional<std::pair<double, double>> error_interval;
  /// Lower bound of |A - B|_2, by power iteration.
  std::optional<double> spectral_error_lower;
  std::optional<double> apply_seconds_1;   ///< median time of B x
  std::optional<double> apply_seconds_64;  ///< median time of B X, 64 columns
  bool worse_than_zero = false;            ///< error above |A|_F: the zero matrix is nearer
  std::optional<Certificate> certificate;  ///< if options.certificate is set
};

/// Measures B against A. All methods are measured in the same way, by this function only.
///
/// Exact: sqrt(sum |(A - B)(:, J)|_F^2) over panels J of 64 columns, summed in their order:
/// bit-identical for any number of threads. Estimated from random vectors: E |(A - B) w|^2 = |A -
/// B|_F^2 for standard normal w [Hut90]. Estimated from columns: the mean of |(A - B)(:, j)|^2 /
/// p_j over 64 to 1024 columns j drawn with probability p_j. Half of p_j is uniform and half is
/// proportional to |A(j, j) - B(j, j)| if both diagonals are cheap, so that few columns with most
/// of the error are not overlooked; otherwise all of p_j is uniform. The interval from vectors fits
/// a shifted chi-squared distribution to |A - B|_F^2 and to the traces of the square and the cube
/// of (A - B)^T (A - B), which follow from scalar products of the images: in 4000 trials with each
/// of eight spectra, 2.5 to 2.9 % were beyond either end, where 2.5 % are intended. The interval
/// from columns is Student's t on the logarithm of the mean of the samples (delta method).
///
/// A certificate, if requested, is the exact error with confidence 1 if that is known; otherwise,
/// and for the spectral norm, it is that of certify(), 40 products in 5 passes.
///
/// Cost: every column of A and B once if exact; if estimated, `probes` products with each and 16 m
/// multiplications for each probe, or the columns; then at most 2 spectral_iterations products.
/// kQuick: each of the three is limited to about options.exact_limit multiplications, where
/// multiplications by one vector count 16 times, the cost of reading a stored matrix. Columns then
/// replace vectors if vectors would take more and A computes its entries (kernel matrices): a
/// quarter of the limit for the columns, at most all of it for the diagonals. The spectral bound
/// gets a third of the limit, and is omitted if that allows fewer than 3 iterations. Products of
/// over 0.03 s are timed once. The relative error is over facts.frobenius_norm; if that is an
/// estimate and the error is exact, it is over the exact norm, which the same pass then computes.
/// Memory: two panels of 64 columns per thread. Throws InvalidArgument if shapes differ, probes <
/// 8, a confidence is invalid, or the effort is kNone; NumericalError for NaN or Inf in A or B,
/// naming row and column (counted from 1); Interrupted if control stops it. control.progress
/// receives the fraction done.
Measurement measure(const LinearOperator& A,
                    const LinearOperator& B,
                    const MatrixFacts& facts,
                    const MeasureOptions& options = {},
                    const RunControl& control = {});

/// Completes a result of measure() for these A, B and facts, which has the error, by everything
/// else that the options request: the spectral bound, the certificate, the times of products. Cost
/// and exceptions are those of measure().
void add_to_measurement(Measurement& measurement,
                        const LinearOperator& A,
                        const LinearOperator& B,
                        const MatrixFacts& facts,
                        const MeasureOptions& options,
                        const RunControl& control = {});

/// Returns the median seconds of a product of B with `columns` columns: after one product that does
/// not count, repetitions within about `seconds`, at least 3. If the first product takes over three
/// times `seconds`, its time is returned. Returns nothing if X and B X would take more than 256
/// MiB together: measuring should not need more memory than the measured object.
std::optional<double> time_product(const LinearOperator& B, Index columns, double seconds = 0.3);

}  // namespace matapprox
