#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "factors/low_rank.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/measure/run.hpp"
#include "measure/target_search.hpp"
#include "methods/dense_matrix.hpp"

namespace matapprox {
namespace {

/// Bytes per value of a component, minimum and typical, and bytes per component besides its values.
constexpr double kMinValueBytes = 3.0 / 8;
constexpr double kUsualValueBytes = 1;
constexpr double kBesideComponent = 10;
constexpr Index kFirstRank = 8;
/// Run time of a round with twice the rank, relative to the round before.
constexpr double kNextRound = 3;
/// Fraction of a tolerance that truncation may use, and fraction that truncation and rounding may
/// use together.
constexpr double kTruncationShare = 0.9;
constexpr double kPackedAim = 0.97;
/// Squared error that rounding may add if the rank is given, relative to the last component's
/// square.
constexpr double kRoundingShare = 0.1;
/// Singular values below this fraction of the largest are themselves rounding errors.
constexpr double kRounded = 1e-15;

Index least_side(const LinearOperator& A) { return std::min(A.rows(), A.cols()); }

bool is_given(const NamedOptions& options, std::string_view name) {
  return !option_value(options, name).empty();
}

bool gives_size(const NamedOptions& options) {
  const std::string rank = option_value(options, "rank");
  return (!rank.empty() && rank != "0") || is_given(options, "landmarks") ||
         is_given(options, "frobenius_tolerance") || is_given(options, "spectral_tolerance");
}

double budget_bytes_of(const LinearOperator& A, const NamedOptions& options) {
  const std::string text = option_value(options, "budget");
  const StorageBudget budget =
      text.empty() ? default_budget(A.rows(), A.cols()) : parse_budget(text);
  return budget.bytes(A.rows(), A.cols());
}

Approximation assembled(const Approximation& fitted, PackedProduct packed) {
  Summary summary = fitted.summary;
  summary.rank = packed.rank;
  summary.form += summary.form.empty() ? "packed" : ", packed";
  return {std::move(packed.factors), std::move(summary)};
}

Index rank_of_bytes(const LinearOperator& A, bool symmetric, double bytes, double value_bytes) {
  const double values =
      static_cast<double>(A.rows()) + (symmetric ? 0.0 : static_cast<double>(A.cols()));
  const double rank = bytes / (values * value_bytes + kBesideComponent);
  return std::clamp<Index>(
      static_cast<Index>(std::min(rank, static_cast<double>(least_side(A)))), 1, least_side(A));
}

Approximation packed_within_budget(const Method& method,
                                   const LinearOperator& A,
                                   const NamedOptions& options,
                                   const RunControl& control) {
  const double bytes = budget_bytes_of(A, options);
  const bool symmetric =
      option_value(options, "symmetric_storage") == "true" || method.name == "nystrom";
  const Index most = rank_of_bytes(A, symmetric, bytes, kMinValueBytes);
  Index rank =
      std::min(most, std::max(kFirstRank, rank_of_bytes(A, symmetric, bytes, kUsualValueBytes)));
  NamedOptions sized = options;
  std::erase_if(sized, [](const auto& option) { return option.first == "budget"; });
  std::optional<Approximation> best;
  for (;;) {
    const double begin = control.seconds();
    try {
      const Approximation fitted =
          method.run(A, with_option(sized, "rank", fmt::format("{}", rank)), control);
      PackedProduct packed = pack_low_rank(fitted, {bytes, 0});
      const bool more_may_pay = packed.rank == packed.available && fitted.summary.rank >= rank;
      best = assembled(fitted, std::move(packed));
      if (!more_may_pay || rank >= most || control.should_stop()) return *best;
    } catch (const Interrupted&) {
      if (!best) throw;
      return *best;
    }
    const double now = control.seconds();
    if (now + kNextRound * (now - begin) > control.max_seconds) return *best;
    rank = std::min(most, 2 * rank);
  }
}

Approximation packed_within_error(const Method& method,
                                  const LinearOperator& A,
                                  const NamedOptions& options,
                                  const RunControl& control) {
  const double norm = frobenius_norm(A, "packed", control);
  const double bytes = is_given(options, "budget") ? budget_bytes_of(A, options)
                                                   : std::numeric_limits<double>::infinity();
  NamedOptions unlimited = options;
  std::erase_if(unlimited, [](const auto& option) { return option.first == "budget"; });
  const Approximation fitted =
      method.run(A,
                 with_option(unlimited,
                             "frobenius_tolerance",
                             fmt::format("{}", kTruncationShare * control.target_error)),
                 control);
  // Squares of values relative to |A| do not leave the range of doubles.
  const double held = norm > 0 ? (low_rank_values(fitted) / norm).squaredNorm() : 1;
  const double left = std::max(1 - held, 0.0);
  const double rounding = std::pow(kPackedAim * control.target_error, 2) - left;
  if (!(rounding > 0 && norm > 0)) return packed(fitted);
  return assembled(fitted, pack_low_rank(fitted, {bytes, std::sqrt(rounding) * norm}));
}

/// Packs the Chord factors into kChainBits bits per value. All other factors stay as they are,
/// shared ones too.
Approximation packed_chain(const Approximation& fitted) {
  std::vector<Factor> factors = host_factors(fitted.factors());
  for (Factor& factor : factors) {
    const auto* chain = std::get_if<ChordFactors>(factor.value.get());
    if (chain == nullptr) continue;
    factor.value = std::make_shared<const FactorValue>(PackedChord::rounded(*chain, kChainBits));
  }
  Summary summary = fitted.summary;
  summary.form += summary.form.empty() ? "packed" : ", packed";
  return {std::move(factors), std::move(summary), fitted.symmetrized()};
}

/// Converts a budget in bytes to the number of values that a packed chain stores in it. A value
/// takes its bits and its part of a scale and of a width.
NamedOptions chain_options(const LinearOperator& A, const NamedOptions& options) {
  if (!is_given(options, "budget")) return options;
  const StorageBudget budget = parse_budget(option_value(options, "budget"));
  if (budget.unit != StorageBudget::Unit::kBytes) return options;
  const double per_value = (kChainBits + 0.5) / 8 + 16.0 / static_cast<double>(A.rows());
  const StorageBudget numbers{StorageBudget::Unit::kNumbers, std::floor(budget.amount / per_value)};
  return with_option(options, "budget", numbers.text());
}

}  // namespace

bool chooses_bits(const Method& method) {
  return method.name == "hierarchical" || method.name == "kronecker" ||
         method.name == "butterfly" || method.name == "transform" || method.name == "wavelet";
}

bool can_be_packed(const Method& method) {
  return method.name == "truncated_svd" || method.name == "nystrom" || method.name == "chord" ||
         chooses_bits(method);
}

Approximation packed_run(const Method& method,
                         const LinearOperator& A,
                         const NamedOptions& options,
                         const RunControl& control) {
  method.check(options);
  if (chooses_bits(method)) {
    const std::string target = fmt::format("{}", control.target_error);
    return method.run(
        A,
        control.target_error > 0 ? with_option(options, "frobenius_tolerance", target) : options,
        control);
  }
  if (method.name == "chord")
    return packed_chain(method.run(A, chain_options(A, options), control));
  if (gives_size(options)) return packed(method.run(A, options, control));
  if (control.target_error > 0) return packed_within_error(method, A, options, control);
  return packed_within_budget(method, A, options, control);
}

Approximation packed(const Approximation& fitted) {
  const auto& factors = fitted.factors();
  const bool has_chain = std::any_of(factors.begin(), factors.end(), [](const Factor& factor) {
    return std::holds_alternative<ChordFactors>(*factor.value) ||
           std::holds_alternative<PlacedChord>(*factor.value);
  });
  if (has_chain) return packed_chain(fitted);
  if (storage_precision(fitted) == enum_name(Precision::kPacked)) return fitted;
  const Vector values = low_rank_values(fitted);
  const double smallest = std::max(values(values.size() - 1), kRounded * values(0));
  const double rounding = values(0) > 0 ? std::sqrt(kRoundingShare) * smallest : 1;
  PackedProduct product =
      pack_low_rank(fitted, {std::numeric_limits<double>::infinity(), rounding});
  return assembled(fitted, std::move(product));
}

}  // namespace matapprox
