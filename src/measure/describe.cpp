#include <fmt/format.h>

#include <cmath>
#include <span>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/measure/measure.hpp"
#include "measure/estimate.hpp"

namespace matapprox {
namespace {

struct Counted {
  Index nonzeros = 0;
  double norm = 0;
};

/// Counts nonzeros and computes |A|_F in one pass over all columns.
Counted count_and_norm(const LinearOperator& A, const RunControl& control) {
  const Index panels = (A.cols() + report::kPanelColumns - 1) / report::kPanelColumns;
  std::vector<double> norms(static_cast<std::size_t>(panels));
  std::vector<Index> counts(static_cast<std::size_t>(panels));
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("describe");
    const Index first = p * report::kPanelColumns;
    const Matrix X =
        A.columns_at(index_range(first, std::min(report::kPanelColumns, A.cols() - first)));
    report::refuse_nonfinite(A, X);
    norms[static_cast<std::size_t>(p)] = report::panel_norm(X);
    counts[static_cast<std::size_t>(p)] = (X.array() != 0).count();
  });
  Counted result;
  result.norm = report::combined_norm(norms);
  for (const Index count : counts) result.nonzeros += count;
  return result;
}

bool pass_is_cheap(const LinearOperator& A, const MeasureOptions& options) {
  const double per_column = A.cost().multiplications_per_column + static_cast<double>(A.rows());
  return options.always_exact ||
         per_column * static_cast<double>(A.cols()) < within_fit(options, 0).exact_limit;
}

report::NormEstimate norm_by_vectors(const LinearOperator& A,
                                     const MeasureOptions& options,
                                     const RunControl& control) {
  const auto product = [&](const Matrix& W) {
    Matrix image = A.apply(W);
    report::refuse_nonfinite(A, image);
    return image;
  };
  return report::estimate_norm(
      A.rows(), A.cols(), options, product, [&] { control.throw_if_stopped("describe"); });
}

report::NormEstimate norm_by_columns(const LinearOperator& A,
                                     const MeasureOptions& options,
                                     const RunControl& control) {
  const double per_column = A.cost().multiplications_per_column + static_cast<double>(A.rows());
  const Index count = report::sample_size(A.cols(), per_column, within_fit(options, 0).exact_limit);
  const auto columns = [&](std::span<const Index> J) {
    control.throw_if_stopped("describe");
    Matrix X = A.columns_at(J);
    report::refuse_nonfinite(A, X);
    return X;
  };
  return report::estimate_norm(report::draw_columns(A.cols(), count, options.seed, {}), columns);
}

}  // namespace

MatrixFacts describe(const LinearOperator& A,
                     const MeasureOptions& options,
                     const RunControl& control) {
  const StopScope scope(control, "describe");
  const KnownFacts known = A.known_facts();
  MatrixFacts facts;
  facts.rows = A.rows();
  facts.cols = A.cols();
  facts.nonzeros = known.nonzeros;
  const bool norm_known = known.frobenius_norm && std::isfinite(*known.frobenius_norm);
  if (norm_known) facts.frobenius_norm = *known.frobenius_norm;

  if (!(norm_known && known.nonzeros) && pass_is_cheap(A, options)) {
    const Counted counted = count_and_norm(A, control);
    facts.nonzeros = counted.nonzeros;
    if (!norm_known) facts.frobenius_norm = counted.norm;
  } else if (!norm_known) {
    const bool by_columns = options.effort != MeasureEffort::kFull && report::makes_entries(A);
    const report::NormEstimate estimate =
        by_columns ? norm_by_columns(A, options, control) : norm_by_vectors(A, options, control);
    facts.frobenius_norm = estimate.norm;
    facts.norm_interval = estimate.interval;
    facts.norm_is_exact = false;
  }
  facts.averaged_asymmetry = known.averaged_asymmetry;
  if (!std::isfinite(facts.frobenius_norm) ||
      (facts.norm_interval && !std::isfinite(facts.norm_interval->second))) {
    throw NumericalError(fmt::format(
        "{}: |A|_F is beyond the range of doubles, 1.8e308; divide the matrix by a number",
        A.description()));
  }
  facts.symmetric = known.symmetric ? *known.symmetric : is_symmetric(A);
  return facts;
}

}  // namespace matapprox
