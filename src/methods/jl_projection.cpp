#include "matapprox/methods/jl_projection.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kJlProjection = "jl_projection";
/// Columns of R generated at a time.
constexpr Index kPanel = 512;

/// Returns R^T with the same bits as R.apply_transpose(identity), which would take k^2 n
/// multiplications; here the entries of R are only copied into place. Those of an SRHT come from
/// transforms: k of them for R^T, n for R.
Matrix transposed(const RandomProjection& R) {
  if (R.kind() == ProjectionKind::kSrht)
    return R.apply_transpose(Matrix::Identity(R.rows(), R.rows()));
  Matrix result(R.cols(), R.rows());
  for (Index first = 0; first < R.cols(); first += kPanel) {
    const Index count = std::min(kPanel, R.cols() - first);
    result.middleRows(first, count) = R.columns(first, count).transpose();
  }
  return result;
}

/// The same in a space that may be distributed, so that R^T, except for an SRHT, is written in
/// panels.
MultiVector placed_transposed(const RandomProjection& R,
                              const std::shared_ptr<const MemorySpace>& space) {
  if (R.kind() == ProjectionKind::kSrht) return {space, transposed(R)};
  MultiVector result(space, R.cols(), R.rows());
  for (Index first = 0; first < R.cols(); first += kPanel) {
    const Index count = std::min(kPanel, R.cols() - first);
    const Matrix rows = R.columns(first, count).transpose();
    space->write_rows(R.cols(), result.data(), R.rows(), first, count, rows.data());
  }
  return result;
}

/// Returns A R^T.
Factor sketch_of(const LinearOperator& A, const RandomProjection& R) {
  constexpr const char* kName = "B";
  if (!A.memory_space()->is_distributed()) {
    Matrix sketch = A.apply(transposed(R));
    require_finite(sketch, kJlProjection);
    return make_factor(kName, std::move(sketch));
  }
  MultiVector sketch = A.apply(placed_transposed(R, A.memory_space()).columns());
  finite_unit_scale(sketch, kJlProjection);
  return make_factor(kName, PlacedMatrix(std::move(sketch)));
}

}  // namespace

void JlProjectionOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "rows of R, 1..n; 0: as many as the budget admits");
  v.visit("budget", budget, "storage limit: numbers, a share (10%) or bytes (4MB)");
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
  const StopScope scope(control, kJlProjection);
  Factor sketch = sketch_of(A, R);

  Summary summary;
  summary.method = kJlProjection;
  summary.form = enum_name(options.kind);
  summary.rank = rank;
  summary.seed = options.seed;
  summary.options = list_options(options);
  return Approximation({std::move(sketch), make_factor("R", R)}, std::move(summary));
}

namespace {

void check_jl(const char* who, Index points, double epsilon) {
  require(points >= 2, "{}: {} points; at least 2 are needed", who, points);
  require(
      epsilon > 0 && epsilon < 1, "{}: epsilon {:g} is outside 0..1 (both excluded)", who, epsilon);
}

/// Returns `weight` ln(points) / room, rounded up. Throws InvalidArgument if that does not fit in
/// an Index.
Index jl_rows(const char* who, double weight, Index points, double epsilon, double room) {
  const double rows = std::ceil(weight * std::log(static_cast<double>(points)) / room);
  require(rows < 9e18, "{}: epsilon {:g} is too small for any matrix", who, epsilon);
  return static_cast<Index>(rows);
}

}  // namespace

Index jl_dimension(Index points, double epsilon) {
  check_jl("jl_dimension", points, epsilon);
  const double room = epsilon * epsilon / 2 - epsilon * epsilon * epsilon / 3;
  return jl_rows("jl_dimension", 4, points, epsilon, room);
}

Index linformer_dimension(Index n, double epsilon) {
  check_jl("linformer_dimension", n, epsilon);
  const double room = epsilon * epsilon * (1 - epsilon);
  return jl_rows("linformer_dimension", 5, n, epsilon, room);
}

}  // namespace matapprox
