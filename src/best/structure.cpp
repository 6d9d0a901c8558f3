#include "matapprox/best/structure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "matapprox/core/error.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/methods/butterfly.hpp"
#include "matapprox/methods/exact.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/methods/kronecker.hpp"
#include "matapprox/methods/toeplitz.hpp"
#include "matapprox/methods/transform.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

/// Largest share of the bytes of doubles of a lossless form, and of a form with rounding.
constexpr double kMaxExactShare = 0.9;
constexpr double kMaxShare = 0.05;
/// A lossless form with less than this share explains the matrix.
constexpr double kExplained = 0.01;
/// Largest error of a form with rounding, and the error that it is fitted to.
constexpr double kMaxError = 1e-7;
constexpr double kFittedError = 1e-10;
constexpr Index kMaxRank = 48;

class Search {
 public:
  Search(const LinearOperator& A, std::uint64_t seed, const RunControl& control)
      : A_(A),
        seed_(seed),
        control_(control),
        doubles_(8.0 * static_cast<double>(A.rows()) * static_cast<double>(A.cols())) {
    options_.time_products = false;
    options_.spectral_iterations = 0;
    options_.seed = seed;
  }

  std::vector<Structure> found() {
    const std::vector<ExactSize> sizes = exact_sizes(A_, control_);
    const ExactSize& smallest = sizes.front();
    if (smallest.bytes <= kMaxExactShare * doubles_)
      found_.push_back({smallest.description, smallest.bytes, 0});
    if (dense_values(A_) != nullptr && smallest.bytes > kExplained * doubles_) look_for_the_rest();
    std::stable_sort(found_.begin(), found_.end(), [](const Structure& a, const Structure& b) {
      return a.bytes < b.bytes;
    });
    return std::move(found_);
  }

 private:
  void look_for_the_rest() {
    facts_ = describe(A_, options_, control_);
    const double bytes = kMaxShare * doubles_;
    StorageBudget budget{StorageBudget::Unit::kBytes, bytes};
    TruncatedSvdOptions svd;
    svd.rank = std::min({kMaxRank, A_.rows(), A_.cols()});
    svd.algorithm = SvdAlgorithm::kRandomized;
    svd.seed = seed_;
    add([&] {
      const Approximation triplets = truncated_svd(A_, svd, control_);
      const auto& sigma = std::get<Vector>(*triplets.factors().at(1).value);
      svd.rank = std::max<Index>((sigma.array() > kFittedError * sigma(0)).count(), 1);
      return svd.rank < sigma.size() ? truncated_svd(A_, svd, control_) : triplets;
    });
    if (toeplitz_error_estimate(A_, bytes, seed_) <= kMaxError) {
      add([&] { return toeplitz(A_, {.budget = budget, .seed = seed_}, control_); });
    }
    if (toeplitz_rest_error_estimate(A_, bytes, seed_) <= kMaxError) {
      add([&] { return blocks_beside(&HierarchicalOptions::toeplitz, budget); });
    }
    if (kronecker_error_estimate(A_, bytes, kMaxError, seed_) <= kMaxError) {
      add([&] {
        return kronecker(
            A_, {.budget = budget, .frobenius_tolerance = kFittedError, .seed = seed_}, control_);
      });
    }
    if (butterfly_error_estimate(A_, bytes, kMaxError, seed_) <= kMaxError) {
      add([&] {
        return butterfly(
            A_, {.budget = budget, .frobenius_tolerance = kFittedError, .seed = seed_}, control_);
      });
    }
    if (transform_error_estimate(A_, bytes, seed_) <= kMaxError) {
      add([&] {
        return transform(
            A_, {.budget = budget, .frobenius_tolerance = kFittedError, .seed = seed_}, control_);
      });
    }
    if (outlier_error_estimate(A_, bytes, seed_) <= kMaxError) {
      add([&] { return blocks_beside(&HierarchicalOptions::outliers, budget); });
    }
  }

  /// Blocks of what is left if the part that the option names is stored by itself.
  Approximation blocks_beside(bool HierarchicalOptions::*part, const StorageBudget& budget) const {
    HierarchicalOptions options;
    options.budget = budget;
    options.frobenius_tolerance = kMaxError;
    options.*part = true;
    options.seed = seed_;
    return hierarchical(A_, options, control_);
  }

  void add(const std::function<Approximation()>& fit) {
    try {
      const Approximation B = fit();
      const auto bytes = static_cast<double>(B.storage().bytes);
      if (bytes > kMaxShare * doubles_) return;
      const auto error = measure(A_, B, facts_, options_, control_).relative_error;
      if (error && *error <= kMaxError) found_.push_back({text_of(B), bytes, *error});
    } catch (const BudgetTooSmall&) {
      // It has no such form.
    }
  }

  static std::string text_of(const Approximation& B) {
    const Summary& summary = B.summary;
    if (summary.method == "truncated_svd") return fmt::format("rank {}", summary.rank);
    if (summary.method == "kronecker") return "Kronecker sum of " + summary.form;
    if (summary.method == "butterfly")
      return fmt::format("butterfly of rank {}, {}", summary.rank, summary.form);
    if (summary.method == "toeplitz") return summary.form;
    if (summary.method == "transform") return "few coefficients, " + summary.form;
    if (std::holds_alternative<SumMatrix>(*B.factors().front().value))
      return summary.form + " blocks of low rank";
    return "blocks of low rank, " + summary.form;
  }

  const LinearOperator& A_;
  std::uint64_t seed_;
  const RunControl& control_;
  double doubles_;
  MeasureOptions options_;
  MatrixFacts facts_;
  std::vector<Structure> found_;
};

}  // namespace

std::vector<Structure> find_structure(const LinearOperator& A,
                                      std::uint64_t seed,
                                      const RunControl& control) {
  const StopScope scope(control, "structure");
  return Search(A, seed, control).found();
}

}  // namespace matapprox
