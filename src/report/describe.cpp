#include <cmath>
#include <vector>

#include "matapprox/core/threads.hpp"
#include "matapprox/report/measure.hpp"
#include "report/estimate.hpp"
#include "report/panel_norm.hpp"

namespace matapprox {
namespace {

struct Counted {
  Index nonzeros = 0;
  double norm = 0;
};

/// One pass over all columns.
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
  return options.always_exact || per_column * static_cast<double>(A.cols()) < options.exact_limit;
}

}  // namespace

MatrixFacts describe(const LinearOperator& A,
                     const MeasureOptions& options,
                     const RunControl& control) {
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
    const auto product = [&](const Matrix& W) {
      Matrix image = A.apply(W);
      report::refuse_nonfinite(A, image);
      return image;
    };
    facts.frobenius_norm = report::estimate_norm(A.rows(), A.cols(), options, product, [&] {
                             control.throw_if_stopped("describe");
                           }).norm;
    facts.norm_is_exact = false;
  }
  facts.symmetric = known.symmetric ? *known.symmetric : is_symmetric(A);
  return facts;
}

}  // namespace matapprox
