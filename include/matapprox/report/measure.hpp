#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

struct MeasureOptions {
  /// Errors are exact, by column panels, where that takes fewer multiplications than this, or
  /// always with `always_exact`; else estimated.
  double exact_limit = 1e11;
  bool always_exact = false;
  Index probes = 64;               ///< random vectors of an estimate, at least 8
  Index spectral_iterations = 30;  ///< at most; fewer where they would pass exact_limit; 0: none
  bool time_products = true;
  std::uint64_t seed = 1;
};

/// The size of a matrix in numbers; nothing here is guessed.
struct MatrixFacts {
  Index rows = 0;
  Index cols = 0;
  std::optional<Index> nonzeros;  ///< entries that are not 0; empty if counting costs too much
  bool symmetric = false;
  double frobenius_norm = 0;
  bool norm_is_exact = true;
};

/// Facts of A: what it knows, completed by one pass over column panels within options.exact_limit,
/// else the norm by random probes. Throws NumericalError, naming row and column (counted from 1),
/// for NaN or Inf, and Interrupted if control stops it.
MatrixFacts describe(const LinearOperator& A,
                     const MeasureOptions& options = {},
                     const RunControl& control = {});

/// How far B is from A, and what multiplying by B takes.
struct Measurement {
  double error_frobenius = 0;  ///< |A - B|_F
  /// error / |A|_F; for A = 0: 0 if B = 0, else empty.
  std::optional<double> relative_error;
  bool error_is_exact = true;
  /// 95 % confidence interval of error_frobenius where it is an estimate.
  std::optional<std::pair<double, double>> error_interval;
  /// |A - B|_2 >= this, by power iteration.
  double spectral_error_lower = 0;
  double apply_seconds_1 = 0;    ///< median time of B x
  double apply_seconds_64 = 0;   ///< median time of B X, 64 columns
  bool worse_than_zero = false;  ///< error above |A|_F: the zero matrix is nearer
};

/// Measures B against A: all methods the same way, by this function only.
///
/// Exact: sqrt(sum |(A - B)(:, J)|_F^2) over panels J of 64 columns, summed in their order: the
/// same bits for any number of threads. Estimated: E |(A - B) w|^2 = |A - B|_F^2 for standard
/// normal w [Hut90]; the interval is Student's t on the logarithm of the mean of the samples (delta
/// method), which keeps it above 0 and near its 95 % for one dominating singular value too. Cost:
/// exact: every column of A and B once; estimated: `probes` products with each; then at most 2
/// spectral_iterations products. Memory: two panels of 64 columns per thread. Throws
/// InvalidArgument if shapes differ or probes < 8, NumericalError for NaN or Inf in A or B, naming
/// row and column (counted from 1), Interrupted if control stops it.
Measurement measure(const LinearOperator& A,
                    const LinearOperator& B,
                    const MatrixFacts& facts,
                    const MeasureOptions& options = {},
                    const RunControl& control = {});

/// Median seconds of a product of B with `columns` columns: after one product that does not count,
/// repetitions within about 0.3 s, at least 3; a first product of over a second is taken as it is.
double time_product(const LinearOperator& B, Index columns);

}  // namespace matapprox
