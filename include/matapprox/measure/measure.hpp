#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/measure/certificate.hpp"

namespace matapprox {

/// How much measuring may cost.
enum class MeasureEffort {
  kNone,   ///< nothing is measured
  kQuick,  ///< about as much as the fit: what would take longer is estimated, or left out
  kFull,   ///< exact up to exact_limit, else estimated by random vectors, whatever they take
};

template <>
struct EnumNames<MeasureEffort> {
  static constexpr std::array<std::string_view, 3> values{"none", "quick", "full"};
};

struct MeasureOptions {
  MeasureEffort effort = MeasureEffort::kFull;
  /// Errors are exact, by column panels, where that takes fewer multiplications than this, or
  /// always with `always_exact`; else estimated.
  double exact_limit = 1e11;
  bool always_exact = false;
  Index probes = 64;               ///< random vectors of an estimate, at least 8
  Index spectral_iterations = 30;  ///< at most; fewer where they would pass exact_limit; 0: none
  bool time_products = true;
  std::uint64_t seed = 1;
  /// Also certify upper bounds of the error, whatever the effort; empty: none.
  std::optional<CertificateOptions> certificate{};
};

/// The options with which measuring what a fit made takes about as long as the fit did: with effort
/// kQuick an exact_limit of `fit_multiplications`, between 5e9 and the limit given; else as they
/// are. It follows from counts and not from a clock, so that the same seed gives the same figures.
MeasureOptions within_fit(MeasureOptions options, double fit_multiplications);

/// The size of a matrix in numbers; nothing here is guessed.
struct MatrixFacts {
  Index rows = 0;
  Index cols = 0;
  std::optional<Index> nonzeros;  ///< entries that are not 0; empty if counting costs too much
  bool symmetric = false;
  double frobenius_norm = 0;
  bool norm_is_exact = true;
  /// 95 % confidence interval of frobenius_norm where it is an estimate.
  std::optional<std::pair<double, double>> norm_interval{};
  double averaged_asymmetry = 0;  ///< see KnownFacts
};

/// Facts of A: what it knows, completed by one pass over column panels within options.exact_limit
/// (of 5e9 multiplications with kQuick and kNone), else the norm by random probes
/// or, with these two and for matrices that compute their entries, by columns drawn at random.
/// Throws NumericalError, naming row and column (counted from 1), for NaN or Inf, and Interrupted
/// if control stops it.
MatrixFacts describe(const LinearOperator& A,
                     const MeasureOptions& options = {},
                     const RunControl& control = {});

/// What an error is made from.
enum class ErrorBasis {
  kExact,    ///< all columns
  kVectors,  ///< products with random vectors
  kColumns,  ///< columns drawn at random
};

template <>
struct EnumNames<ErrorBasis> {
  static constexpr std::array<std::string_view, 3> values{"exact", "vectors", "columns"};
};

/// How far B is from A, and what multiplying by B takes. What was left out is empty.
struct Measurement {
  double error_frobenius = 0;  ///< |A - B|_F
  /// error / |A|_F; for A = 0: 0 if B = 0, else empty.
  std::optional<double> relative_error;
  bool error_is_exact = true;
  ErrorBasis error_basis = ErrorBasis::kExact;
  Index error_samples = 0;  ///< random vectors or columns of an estimate; 0 if exact
  /// 95 % confidence interval of error_frobenius where it is an estimate; no certified bound.
  std::optional<std::pair<double, double>> error_interval;
  /// |A - B|_2 >= this, by power iteration.
  std::optional<double> spectral_error_lower;
  std::optional<double> apply_seconds_1;   ///< median time of B x
  std::optional<double> apply_seconds_64;  ///< median time of B X, 64 columns
  bool worse_than_zero = false;            ///< error above |A|_F: the zero matrix is nearer
  std::optional<Certificate> certificate;  ///< if options.certificate asked for it
};

/// Measures B against A: all methods the same way, by this function only.
///
/// Exact: sqrt(sum |(A - B)(:, J)|_F^2) over panels J of 64 columns, summed in their order: the
/// same bits for any number of threads. Estimated from random vectors: E |(A - B) w|^2 =
/// |A - B|_F^2 for standard normal w [Hut90]. Estimated from columns: the mean of
/// |(A - B)(:, j)|^2 / p_j over 64 to 1024 columns j drawn with probability p_j, half of it uniform
/// and half proportional to |A(j, j) - B(j, j)| where both diagonals are cheap, so that few columns
/// with most of the error are not overlooked; all of it uniform where they are not. The interval
/// from vectors fits a shifted chi-squared distribution to |A - B|_F^2 and to the traces of the
/// squared and the cubed (A - B)^T (A - B), which scalar products of the images tell: of 4000
/// trials with each of eight spectra 2.5 to 2.9 % lay beyond either end, 2.5 % meant. That from
/// columns is Student's t on the logarithm of the mean of the samples (delta method).
///
/// A certificate, where asked for, is the exact error with confidence 1 where that is known; else,
/// and for the spectral norm, that of certify(), 40 products in 5 passes.
///
/// Cost: exact: every column of A and B once; estimated: `probes` products with each, and 16 m
/// multiplications for each, or the columns; then at most 2 spectral_iterations products. With
/// kQuick each of the three keeps to about options.exact_limit multiplications (a product with one
/// vector counts as 16, what reading a stored matrix takes): columns in place of vectors where
/// those would take more and A computes its entries (kernel matrices; a quarter of it for the
/// columns, all of it at most for the diagonals), a third of it for the spectral bound and none
/// where that would be fewer than 3 iterations, products of over 0.03 s are timed once. The
/// relative error is over facts.frobenius_norm; where that is an estimate and the error is exact,
/// over the exact norm, which the same pass then finds. Memory: two panels of 64 columns per
/// thread. Throws InvalidArgument if shapes differ, probes < 8, a confidence is none, or the effort
/// is kNone, NumericalError for NaN or Inf in A or B, naming row and column (counted from 1),
/// Interrupted if control stops it. control.progress is told the share that is done.
Measurement measure(const LinearOperator& A,
                    const LinearOperator& B,
                    const MatrixFacts& facts,
                    const MeasureOptions& options = {},
                    const RunControl& control = {});

/// Adds to what measure() found for these A, B and facts, its error, what else the options ask for:
/// the spectral bound, the certificate, the times of products. Costs and throws as measure() does.
void add_to_measurement(Measurement& measurement,
                        const LinearOperator& A,
                        const LinearOperator& B,
                        const MatrixFacts& facts,
                        const MeasureOptions& options,
                        const RunControl& control = {});

/// Median seconds of a product of B with `columns` columns: after one product that does not count,
/// repetitions within about `seconds`, at least 3; a first product of over three times that is
/// taken as it is. Nothing where X and B X would take more than 2 GiB together: measuring is not to
/// need more memory than what is measured.
std::optional<double> time_product(const LinearOperator& B, Index columns, double seconds = 0.3);

}  // namespace matapprox
