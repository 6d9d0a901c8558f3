#include "matapprox/methods/jl_projection.hpp"

#include <cmath>

#include "core/require.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kJlProjection = "jl_projection";

}  // namespace

void JlProjectionOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "rows of R, 1..n; 0: as many as the budget admits");
  v.visit("budget", budget, "most to store: numbers, a share (10%) or bytes (4MB)");
  v.visit_enum("kind", kind, "distribution of R");
  v.visit("seed", seed, "seed of R");
}

Approximation jl_projection(const LinearOperator& A,
                            const JlProjectionOptions& options,
                            const RunControl& control) {
  const auto storage_of = [&](Index k) -> Storage {
    return {A.rows() * k, A.rows() * k * bytes_per_value(options.budget.precision)};
  };
  const Index rank = resolve_rank(
      kJlProjection, options.rank, options.budget, A.rows(), A.cols(), A.cols(), storage_of);
  const RandomProjection R(options.kind, options.seed, rank, A.cols());
  control.throw_if_stopped(kJlProjection);
  Matrix sketch = A.apply(R.apply_transpose(Matrix::Identity(rank, rank)));  // A R^T
  require_finite(sketch, kJlProjection);

  Summary summary;
  summary.method = kJlProjection;
  summary.form = enum_name(options.kind);
  summary.rank = rank;
  summary.seed = options.seed;
  summary.options = list_options(options);
  return Approximation({make_factor("B", std::move(sketch)), make_factor("R", R)},
                       std::move(summary));
}

Index jl_dimension(Index points, double epsilon) {
  require(points >= 2, "jl_dimension: {} points, at least 2 are needed", points);
  require(epsilon > 0 && epsilon < 1,
          "jl_dimension: epsilon {:g} is outside 0..1 (both excluded)",
          epsilon);
  const double room = epsilon * epsilon / 2 - epsilon * epsilon * epsilon / 3;
  return static_cast<Index>(std::ceil(4 * std::log(static_cast<double>(points)) / room));
}

}  // namespace matapprox
