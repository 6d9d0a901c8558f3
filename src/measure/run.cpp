#include "matapprox/measure/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/lazy.hpp"
#include "measure/scaled_matrix.hpp"
#include "measure/target_search.hpp"

namespace matapprox {
namespace {

/// Rounding the factors usually changes their product by about the rounding error of a number. A
/// change larger than this multiple is reported.
constexpr double kOrdinaryRounding = 100;

double rounding_of(Precision precision) {
  switch (precision) {
    case Precision::kFloat:
      return 1e-7;
    case Precision::kFloat16:
      return 1e-3;
    default:
      return 8e-3;
  }
}

/// Rounds the factors to `precision`. If the product is much more sensitive than the factors, as a
/// difference of large terms is, the message says by how much it changed on one random vector.
Approximation rounded(const Approximation& exact, Precision precision) {
  if (precision == exact.precision()) return exact;
  if (precision == Precision::kPacked) return packed(exact);
  Approximation result(
      round_factors(exact.factors(), precision), exact.summary, exact.symmetrized(), precision);
  const Matrix x =
      random_normal_matrix(exact.summary.seed, RandomStream::kFingerprint, exact.cols(), 1);
  const Matrix before = exact.apply(x);
  const double moved = (before - result.apply(x)).norm() / before.norm();
  if (moved > std::min(kOrdinaryRounding * rounding_of(precision), 0.1)) {
    std::string& message = result.summary.message;
    message +=
        fmt::format("{}storing {}s changes the product by {:.1e} of its norm; doubles would not",
                    message.empty() ? "" : "; ",
                    enum_name(precision),
                    moved);
  }
  return result;
}

/// Throws NumericalError, naming method and factor, if a factor contains NaN or Inf.
void require_finite(const Approximation& fitted) {
  for (const Factor& factor : fitted.factors()) {
    const std::span<const double> values = stored_values(*factor.value);
    if (std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }))
      continue;
    throw NumericalError(
        fmt::format("{}: intermediate values exceed the range of doubles; factor {} of the result "
                    "holds NaN or Inf",
                    fitted.summary.method,
                    factor.name));
  }
}

/// Relative error, 0..1, that the options themselves request; 0 if there is none, or if it is given
/// with a rank, which the method refuses.
double given_tolerance(const NamedOptions& options) {
  const std::string rank = option_value(options, "rank");
  const std::string text = option_value(options, "frobenius_tolerance");
  double tolerance = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), tolerance);
  const bool is_one = failure == std::errc() && end == text.data() + text.size();
  const bool has_rank = !rank.empty() && rank != "0";
  return is_one && !has_rank && tolerance > 0 && tolerance < 1 ? tolerance : 0;
}

/// True if the caller has already fixed the size of the result.
bool fixes_size(const NamedOptions& options) {
  return std::any_of(options.begin(), options.end(), [](const auto& option) {
    const std::string& name = option.first;
    // Chord patterns whose size is not a number of factors.
    if (name == "pattern") return option.second == "auto" || option.second == "mixed_radix";
    return name == "rank" || name == "factors" || name == "frobenius_tolerance" ||
           name == "spectral_tolerance" || name == "landmarks";
  });
}

/// True for methods that choose bits themselves and measure what they store. Their reports on a
/// tolerance hold for the stored result, and they work in units of the matrix.
bool measures_itself(const Method& method) { return method.name == "hierarchical"; }

/// Largest rank, or largest number of factors that store fewer numbers than the matrix has entries.
Index largest_size(const LinearOperator& A,
                   const std::string& size_option,
                   const Approximation& smallest) {
  if (size_option == "rank") return std::min(A.rows(), A.cols());
  const Index one = std::max<Index>(smallest.storage().numbers, 1);
  return std::max<Index>((A.rows() * A.cols() - 1) / one, 1);
}

/// Fits `method` to a relative error and rounds the result to its stored precision.
Approximation fit_to_tolerance(const Method& method,
                               const LinearOperator& A,
                               const NamedOptions& options,
                               Precision precision,
                               double tolerance,
                               const RunControl& control) {
  RunControl fit_control = control;
  fit_control.target_error = tolerance;
  if (precision == Precision::kPacked) return packed_run(method, A, options, fit_control);
  const NamedOptions wanted =
      with_option(options, "frobenius_tolerance", fmt::format("{}", tolerance));
  return rounded(method.run(A, wanted, fit_control), precision);
}

Fit fit_for_target(const Method& method, const NamedOptions& options, Precision precision) {
  if (measures_itself(method)) {
    return [&method, options](const LinearOperator& A, const RunControl& control) {
      return method.run(
          A,
          with_option(options, "frobenius_tolerance", fmt::format("{}", control.target_error)),
          control);
    };
  }
  if (method.has_option("frobenius_tolerance")) {
    return [&method, options, precision](const LinearOperator& A, const RunControl& control) {
      const auto fit = [&](double tolerance) {
        return fit_to_tolerance(method, A, options, precision, tolerance, control);
      };
      return report::search_tolerance(A, fit, control);
    };
  }
  const std::string size_option = method.has_option("rank") ? "rank" : "factors";
  return [&method, options, precision, size_option](const LinearOperator& A,
                                                    const RunControl& control) {
    const auto sized = [&](Index size) {
      return rounded(
          method.run(A, with_option(options, size_option, fmt::format("{}", size)), control),
          precision);
    };
    const auto largest = [&](const Approximation& smallest) {
      return largest_size(A, size_option, smallest);
    };
    return report::search_target(A, sized, largest, control);
  };
}

}  // namespace

std::string option_value(const NamedOptions& options, std::string_view name) {
  const auto found = std::find_if(
      options.begin(), options.end(), [&](const auto& option) { return option.first == name; });
  return found == options.end() ? std::string() : found->second;
}

NamedOptions with_option(NamedOptions options, const std::string& name, const std::string& value) {
  std::erase_if(options, [&](const auto& option) { return option.first == name; });
  options.emplace_back(name, value);
  return options;
}

namespace {

/// Minimum number of multiplications of a fit besides products with A. A fit of rank k stores 2 N k
/// numbers or multiplies by them, N k^2. Any other fit takes its iterations, each a product with 32
/// columns.
double arithmetic_of(const Approximation& fitted) {
  const Summary& summary = fitted.summary;
  const double products = summary.rank > 0 ? 0.5 * static_cast<double>(summary.rank)
                                           : 32.0 * static_cast<double>(summary.iterations);
  return fitted.cost().multiplications_per_apply * products;
}

}  // namespace

RunResult run(const Fit& fit,
              const LinearOperator& A,
              Precision precision,
              const RunControl& control) {
  const CountedOperator counted(A);
  reset_peak_memory();
  const auto start = std::chrono::steady_clock::now();
  RunControl inner = control;
  inner.stored_precision = precision;
  Approximation exact = fit(counted, inner);
  require_finite(exact);
  Approximation fitted = rounded(exact, precision);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double work = counted.multiplications() + arithmetic_of(fitted);
  return {std::move(fitted), seconds, counted.passes(), peak_memory_bytes(), work};
}

namespace {

/// Runs the fit in units of the matrix. The result, rounded in those units, is rounded again in
/// units of 1, where it must be within the range of its precision too.
RunResult run_scaled(const Fit& fit,
                     const LinearOperator& A,
                     Precision precision,
                     const RunControl& control) {
  const ScaledMatrix scaled(A);
  if (!scaled.is_scaled()) return run(fit, A, precision, control);
  const Fit unscaled = [&](const LinearOperator& counted, const RunControl& inner) {
    const Approximation fitted = fit(counted, scaled.control_for_fit(inner));
    require_finite(fitted);
    const Approximation result = scaled.unscaled(fitted);
    return Approximation(round_factors(result.factors(), result.precision()),
                         result.summary,
                         result.symmetrized(),
                         result.precision());
  };
  return run(unscaled, scaled.matrix(), precision, control);
}

/// Reports if rounding to the stored precision misses a target that the method reached in doubles.
void check_target(RunResult& result, const LinearOperator& A, const RunControl& control) {
  Summary& summary = result.approximation.summary;
  if (summary.termination != Termination::kTargetReached ||
      result.approximation.precision() == Precision::kDouble)
    return;
  const std::optional<double> error =
      report::measured_error(A, result.approximation, describe(A, {}, control), control);
  if (!error || *error <= control.target_error) return;
  summary.termination = Termination::kCompleted;
  summary.message +=
      fmt::format("{}target error {:g} not reached: stored as {} the error is {:.3g}",
                  summary.message.empty() ? "" : "; ",
                  control.target_error,
                  storage_precision(result.approximation),
                  *error);
}

}  // namespace

RunResult run(const Method& method,
              const LinearOperator& A,
              const NamedOptions& options,
              Precision precision,
              const RunControl& control) {
  require(
      precision != Precision::kPacked || can_be_packed(method),
      "{}: --precision packed is for truncated_svd, nystrom and chord; hierarchical, kronecker, "
      "butterfly, transform and wavelet are packed in any precision",
      method.name);
  const bool can_search = method.has_option("rank") || method.has_option("factors") ||
                          method.has_option("frobenius_tolerance");
  RunControl wanted = control;
  bool searches = wanted.target_error > 0 && can_search && !fixes_size(options);
  if (wanted.target_error == 0 && precision != Precision::kDouble && !measures_itself(method)) {
    // The stored factors must reach the tolerance, not only those found in doubles.
    wanted.target_error = given_tolerance(options);
    searches = wanted.target_error > 0;
  }
  const Fit fit = [&](const LinearOperator& counted, const RunControl& inner) {
    if (searches) return fit_for_target(method, options, precision)(counted, inner);
    return precision == Precision::kPacked ? packed_run(method, counted, options, inner)
                                           : method.run(counted, options, inner);
  };
  // Neither method is scaled: one works in units of the matrix, the exact store keeps every entry.
  if (measures_itself(method)) return run(fit, A, precision, wanted);
  if (method.name == "exact") {
    RunResult result = run(fit, A, precision, wanted);
    if (wanted.target_error > 0 && precision == Precision::kDouble) {
      result.approximation.summary.termination = Termination::kTargetReached;
    }
    return result;
  }
  RunResult result = run_scaled(fit, A, precision, wanted);
  if (!searches && wanted.target_error > 0) check_target(result, A, wanted);
  return result;
}

}  // namespace matapprox
