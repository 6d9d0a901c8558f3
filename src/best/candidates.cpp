#include "best/candidates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox::choosing {
namespace {

constexpr double kMaxSparseShare = 0.25;
/// For matrices of at least this order, another order of rows and columns is computed only if it
/// may help: computing one takes longer than a fit.
constexpr Index kLargeOrder = 1024;
/// Number of entries up to which a Chord fit takes a second or two.
constexpr double kSmallEntries = 1e5;
/// Number of entries, zeros included, up to which a sparse matrix is also coded as a dense one.
constexpr double kFewEntries = 0x1p20;
/// Available bytes per entry required to hold a matrix in memory: 2.5 times a double.
constexpr double kHeldTimes = 2.5 * 8;

/// The given order is skipped from this gain of the spectral one on. Chosen on Matern, Gaussian and
/// exponential kernels in 1 to 20 dimensions, covariances and block models of order 2000 to 6000:
/// the whole matrix confirmed all gains of 2.2 and more, half of those between 1 and 1.4, and none
/// below 1.
constexpr double kClearlyNearer = 2;

std::vector<std::string> named_methods(const BestOptions& options) {
  std::vector<std::string> names;
  std::string_view rest = options.methods;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    names.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return names;
}

BestCandidate candidate(std::string name,
                        std::string method,
                        NamedOptions options,
                        Precision precision,
                        const BestOptions& wanted) {
  BestCandidate made;
  made.name = std::move(name);
  made.method = std::move(method);
  made.options = std::move(options);
  if (find_method(made.method).has_option("seed")) {
    made.options.emplace_back("seed", fmt::format("{}", wanted.seed));
  }
  made.precision = precision;
  return made;
}

/// Candidates for a budget in numbers: methods that store doubles, the fastest first.
std::vector<BestCandidate> counted_in_numbers(const MatrixTraits& traits,
                                              const BestOptions& options) {
  std::vector<BestCandidate> list;
  const auto add = [&](const char* name, const char* method, NamedOptions named) {
    list.push_back(candidate(name, method, std::move(named), Precision::kDouble, options));
  };
  if (traits.symmetric) {
    add("truncated_svd, symmetric", "truncated_svd", {{"symmetric_storage", "true"}});
  } else {
    add("truncated_svd", "truncated_svd", {});
  }
  if (!traits.held && traits.square) add("nystrom", "nystrom", {});
  add("cur", "cur", {});
  if (traits.held) {
    add("hierarchical in doubles", "hierarchical", {{"widths", "64"}});
  }
  if (traits.square) {
    const bool high = options.effort == BestEffort::kHigh;
    add("chord, pattern auto",
        "chord",
        {{"pattern", "auto"}, {"effort", high ? "default" : "fast"}});
  }
  return list;
}

std::vector<BestCandidate> counted_in_bytes(const MatrixTraits& traits,
                                            const BestOptions& options) {
  const bool high = options.effort == BestEffort::kHigh;
  std::vector<BestCandidate> list;
  const auto add =
      [&](const char* name, const char* method, NamedOptions named, Precision precision) {
        list.push_back(candidate(name, method, std::move(named), precision, options));
      };
  const bool large_kernel = traits.points && !traits.held;
  // Their error estimates need all entries in memory, or the points of a grid.
  const bool reads_all = traits.in_memory || (traits.held && !traits.time_limited);
  if (traits.points || (reads_all && !traits.sparse)) {
    add("toeplitz", "toeplitz", {}, Precision::kDouble);
  }
  const auto add_spectral = [&] {
    add("hierarchical, order spectral",
        "hierarchical",
        {{"order", "spectral"}},
        Precision::kDouble);
  };
  if (traits.spectral_first()) add_spectral();
  add(traits.points ? "hierarchical, order points" : "hierarchical",
      "hierarchical",
      {},
      Precision::kDouble);
  const auto add_codes = [&] {
    // Blocks approximate kernels and covariances far better: samples then rule wavelets out.
    if (traits.sparse ? traits.listed && traits.few : traits.in_memory) {
      add("wavelet", "wavelet", {}, Precision::kDouble);
    }
    if (reads_all && !traits.sparse) add("transform", "transform", {}, Precision::kDouble);
  };
  // Codes of small matrices take a few milliseconds, as the samples of the others do, and what they
  // reach rules most of those out.
  if (traits.small) add_codes();
  if (reads_all && !traits.sparse) {
    add("hierarchical, toeplitz", "hierarchical", {{"toeplitz", "true"}}, Precision::kDouble);
    add("kronecker", "kronecker", {}, Precision::kDouble);
    add("butterfly", "butterfly", {}, Precision::kDouble);
    add("hierarchical, outliers", "hierarchical", {{"outliers", "true"}}, Precision::kDouble);
  }
  if (!traits.spectral_first() && traits.held && traits.square &&
      (high || traits.sparse || (traits.symmetric && !traits.points && !traits.local))) {
    add_spectral();
  }
  if (traits.held && traits.square && (high || traits.sparse)) {
    add("hierarchical, order rcm", "hierarchical", {{"order", "rcm"}}, Precision::kDouble);
  }
  if (!traits.small) add_codes();
  if (large_kernel) {
    add("nystrom", "nystrom", {}, Precision::kPacked);
    return list;
  }
  if (traits.symmetric) {
    add("truncated_svd, symmetric",
        "truncated_svd",
        {{"symmetric_storage", "true"}},
        Precision::kPacked);
  } else {
    add("truncated_svd", "truncated_svd", {}, Precision::kPacked);
  }
  if (!traits.held && traits.square) add("nystrom", "nystrom", {}, Precision::kPacked);
  if (high) add("cur", "cur", {}, Precision::kFloat);
  if (traits.square && (high || (traits.small && !traits.sparse && options.budget.is_set()))) {
    add("chord, pattern auto", "chord", {{"pattern", "auto"}}, Precision::kPacked);
  }
  return list;
}

/// True if the largest entries of a few columns are, on average, within a twentieth of the matrix
/// order from the diagonal: neighbors are already next to each other. Among the paper's covariance
/// and affinity matrices, phoneme, which is already ordered, has an average of 0.02, the others of
/// 0.2 and more.
bool is_local(const LinearOperator& A) {
  constexpr Index kColumns = 64;
  constexpr Index kLargest = 8;
  constexpr double kNear = 0.05;
  std::vector<Index> J;
  for (Index k = 0; k < kColumns; ++k) J.push_back(k * A.cols() / kColumns);
  const Matrix columns = A.columns_at(J);
  std::vector<Index> order(static_cast<std::size_t>(A.rows()));
  double distances = 0;
  for (Index k = 0; k < kColumns; ++k) {
    const Index column = J[static_cast<std::size_t>(k)];
    std::iota(order.begin(), order.end(), Index{0});
    // The diagonal entry is usually among them.
    std::nth_element(order.begin(), order.begin() + kLargest, order.end(), [&](Index a, Index b) {
      return std::abs(columns(a, k)) > std::abs(columns(b, k));
    });
    for (Index e = 0; e < kLargest; ++e) {
      distances += std::abs(static_cast<double>(order[static_cast<std::size_t>(e)] - column));
    }
  }
  return distances <= kNear * static_cast<double>(kColumns * kLargest * A.rows());
}

}  // namespace

MatrixTraits traits_of(const LinearOperator& A,
                       const MatrixFacts& facts,
                       const RunControl& control) {
  MatrixTraits traits;
  traits.time_limited = std::isfinite(control.max_seconds);
  traits.symmetric = facts.symmetric;
  traits.square = facts.rows == facts.cols;
  const double entries = static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
  traits.sparse =
      facts.nonzeros && static_cast<double>(*facts.nonzeros) <= kMaxSparseShare * entries;
  traits.listed = sparse_values(A) != nullptr;
  traits.points = kernel_matrix(A) != nullptr;
  traits.in_memory = has_entries_in_memory(A);
  const auto available = static_cast<double>(available_memory_bytes());
  traits.held = available == 0 || kHeldTimes * entries <= available;
  traits.small = traits.held && entries <= kSmallEntries;
  traits.few = entries <= kFewEntries;
  traits.large = std::min(A.rows(), A.cols()) >= kLargeOrder;
  traits.local = traits.held && traits.square && traits.large && !traits.points && is_local(A);
  return traits;
}

bool MatrixTraits::spectral_first() const { return spectral_gain >= kClearlyNearer; }

bool compares_orders(const MatrixTraits& traits, const BestOptions& options) {
  return traits.large && traits.held && traits.symmetric && !traits.sparse && !traits.points &&
         !traits.local && options.effort != BestEffort::kHigh &&
         options.budget.unit != StorageBudget::Unit::kNumbers &&
         takes_part("hierarchical", options);
}

bool takes_part(const std::string& method, const BestOptions& options) {
  const std::vector<std::string> names = named_methods(options);
  return names.empty() || std::find(names.begin(), names.end(), method) != names.end();
}

void check_methods(const BestOptions& options) {
  const std::vector<std::string> legal = best_methods();
  for (const std::string& name : named_methods(options)) {
    if (std::find(legal.begin(), legal.end(), name) != legal.end()) continue;
    const std::string nearest = nearest_name(name, legal);
    throw InvalidArgument(
        fmt::format("unknown method '{}'{}; the methods are {}",
                    name,
                    nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                    fmt::join(legal, ", ")));
  }
}

BestCandidate exact_store(const BestOptions& options) {
  return candidate("exact", "exact", {}, Precision::kDouble, options);
}

BestCandidate compressed_store(const BestOptions& options) {
  return candidate(
      "exact, compressed", "exact", {{"form", "compressed"}}, Precision::kDouble, options);
}

BestCandidate first_nystrom(const BestOptions& options) {
  return candidate("nystrom, a first result", "nystrom", {}, Precision::kPacked, options);
}

std::vector<BestCandidate> candidates(const MatrixTraits& traits, const BestOptions& options) {
  std::vector<BestCandidate> list = options.budget.unit == StorageBudget::Unit::kNumbers
                                        ? counted_in_numbers(traits, options)
                                        : counted_in_bytes(traits, options);
  std::erase_if(list, [&](const BestCandidate& each) { return !takes_part(each.method, options); });
  // Methods requested by name are tried even if they are not expected to win.
  for (const std::string& name : named_methods(options)) {
    const bool is_there = std::any_of(
        list.begin(), list.end(), [&](const BestCandidate& each) { return each.method == name; });
    if (is_there || name == "exact" || name == "truncated_svd") continue;
    const bool packs = (name == "nystrom" || name == "chord") &&
                       options.budget.unit != StorageBudget::Unit::kNumbers;
    const Precision precision = packs ? Precision::kPacked : Precision::kDouble;
    list.push_back(candidate(name, name, {}, precision, options));
  }
  return list;
}

}  // namespace matapprox::choosing
