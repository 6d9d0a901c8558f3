#include "matapprox/measure/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "factors/factor_value.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/lazy.hpp"
#include "measure/packed_run.hpp"
#include "measure/target_search.hpp"

namespace matapprox {
namespace {

/// Rounding the factors moves their product by about as much as a number. This many times as much
/// is worth a word.
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

/// With the factors at `precision`. Where their product is much more sensitive than they are (the
/// middle factor of CUR has entries of 1 / sigma_k), the message says by how much it moved on one
/// random vector.
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
    message += fmt::format("{}storing {}s moves the product by {:.1e} of it, doubles would not",
                           message.empty() ? "" : "; ",
                           enum_name(precision),
                           moved);
  }
  return result;
}

/// Throws NumericalError, naming method and factor, if a factor holds NaN or Inf.
void require_finite(const Approximation& fitted) {
  for (const Factor& factor : fitted.factors()) {
    const std::span<const double> values = stored_values(*factor.value);
    if (std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); }))
      continue;
    throw NumericalError(
        fmt::format("{}: numbers on the way leave the range of doubles; factor {} "
                    "of the result holds NaN or Inf",
                    fitted.summary.method,
                    factor.name));
  }
}

/// Whether the caller has already fixed how much is stored.
bool fixes_size(const NamedOptions& options) {
  return std::any_of(options.begin(), options.end(), [](const auto& option) {
    const std::string& name = option.first;
    // Patterns of Chord whose size is not a number of factors.
    if (name == "pattern") return option.second == "auto" || option.second == "mixed_radix";
    return name == "rank" || name == "factors" || name == "frobenius_tolerance" ||
           name == "spectral_tolerance" || name == "landmarks";
  });
}

/// The largest rank, or the most factors that store fewer numbers than the matrix has entries.
Index largest_size(const LinearOperator& A,
                   const std::string& size_option,
                   const Approximation& smallest) {
  if (size_option == "rank") return std::min(A.rows(), A.cols());
  const Index one = std::max<Index>(smallest.storage().numbers, 1);
  return std::max<Index>((A.rows() * A.cols() - 1) / one, 1);
}

Fit fit_for_target(const Method& method, const NamedOptions& options, Precision precision) {
  if (method.has_option("frobenius_tolerance")) {
    return [&method, options, precision](const LinearOperator& A, const RunControl& control) {
      if (precision == Precision::kPacked) return packed_run(method, A, options, control);
      const NamedOptions wanted =
          with_option(options, "frobenius_tolerance", fmt::format("{}", control.target_error));
      return method.run(A, wanted, control);
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

/// What a fit multiplies beside products with A, at least: of rank k, which stores 2 N k numbers or
/// multiplies by them, N k^2; else what its iterations take, each a product with 32 columns.
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

RunResult run(const Method& method,
              const LinearOperator& A,
              const NamedOptions& options,
              Precision precision,
              const RunControl& control) {
  require(
      precision != Precision::kPacked || can_be_packed(method),
      "{}: --precision packed is for truncated_svd, nystrom and chord; hierarchical is packed in "
      "any precision",
      method.name);
  const bool can_search = method.has_option("rank") || method.has_option("factors") ||
                          method.has_option("frobenius_tolerance");
  if (control.target_error > 0 && can_search && !fixes_size(options)) {
    return run(fit_for_target(method, options, precision), A, precision, control);
  }
  const Fit fit = [&](const LinearOperator& counted, const RunControl& inner) {
    return precision == Precision::kPacked ? packed_run(method, counted, options, inner)
                                           : method.run(counted, options, inner);
  };
  return run(fit, A, precision, control);
}

}  // namespace matapprox
