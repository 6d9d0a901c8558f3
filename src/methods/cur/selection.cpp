#include "methods/cur/selection.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "matapprox/core/random.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/finite.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/checkpoints.hpp"
#include "methods/weighted_sample.hpp"

namespace matapprox {
namespace {

constexpr const char* kSelection = "cur";
constexpr Index kOversampling = 10;
constexpr Index kScoredColumns = 64;
enum SelectionDraw : Index { kColumnDraw = 5, kRowDraw = 6 };

/// Orders columns by column-pivoted QR of a Gaussian sketch of `count` + 10 rows [VM17].
std::vector<Index> pivoted_order(const LinearOperator& A,
                                 Index count,
                                 std::uint64_t seed,
                                 RandomStream stream) {
  const Index rows = std::min(A.rows(), count + kOversampling);
  Matrix sketch = A.apply_transpose(random_normal_matrix(seed, stream, A.rows(), rows));
  require_finite(sketch, kSelection);
  sketch *= unit_scale(sketch);
  return kernels::pivoted_qr_order(sketch.transpose());
}

/// Orders indices by discrete empirical interpolation of singular vectors [SE16]: Gaussian
/// elimination with row pivoting. The j-th index depends on the first j vectors only.
std::vector<Index> deim_order(Matrix V) {
  std::vector<Index> order;
  for (Index j = 0; j < V.cols(); ++j) {
    throw_if_stop_requested();
    Index pivot = 0;
    const double largest = V.col(j).cwiseAbs().maxCoeff(&pivot);
    if (largest == 0.0) break;
    order.push_back(pivot);
    const Vector column = V.col(j) / V(pivot, j);
    const Index later = V.cols() - j - 1;
    const Eigen::RowVectorXd row = V.row(pivot).tail(later);
    V.rightCols(later).noalias() -= column * row;
    V.row(pivot).setZero();
  }
  return order;
}

/// Appends the indices missing from `order`.
std::vector<Index> completed(std::vector<Index> order, Index n) {
  std::vector<bool> seen(static_cast<std::size_t>(n), false);
  for (const Index i : order) seen[static_cast<std::size_t>(i)] = true;
  for (Index i = 0; i < n; ++i) {
    if (!seen[static_cast<std::size_t>(i)]) order.push_back(i);
  }
  return order;
}

Vector squared_column_norms(const LinearOperator& A, const RunControl& control) {
  Vector logs(A.cols());
  for (Index first = 0; first < A.cols(); first += kScoredColumns) {
    control.throw_if_stopped(kSelection);
    const auto J = index_range(first, std::min(kScoredColumns, A.cols() - first));
    const Matrix panel = A.columns_at(J);
    require_finite(panel, kSelection);
    const double scale = unit_scale(panel);
    logs.segment(first, panel.cols()) =
        ((panel * scale).colwise().squaredNorm().array().log() - 2 * std::log(scale)).transpose();
  }
  const double largest = logs.maxCoeff();
  if (!std::isfinite(largest)) return Vector::Zero(A.cols());
  return (logs.array() - largest).exp();
}

CurOrder from_singular_vectors(const LinearOperator& A,
                               Index count,
                               const CurOptions& options,
                               const RunControl& control) {
  TruncatedSvdOptions svd_options;
  svd_options.power_iterations = 2;
  svd_options.seed = options.seed;
  SvdCheckpoints none;
  const kernels::Svd found =
      host_triplets(randomized_svd(A, is_symmetric(A), count, svd_options, control, none));
  const Matrix& U = found.U;
  const Matrix& V = found.V;
  if (options.sampling == CurSampling::kDeim) {
    return {completed(deim_order(V), A.cols()), completed(deim_order(U), A.rows())};
  }
  return {weighted_order(row_squared_norms(V), options.seed, kColumnDraw),
          weighted_order(row_squared_norms(U), options.seed, kRowDraw)};
}

}  // namespace

CurOrder cur_order(const LinearOperator& A,
                   Index count,
                   const CurOptions& options,
                   const RunControl& control) {
  const auto At = transpose(std::shared_ptr<const LinearOperator>(std::shared_ptr<void>(), &A));
  const std::uint64_t seed = options.seed;
  control.throw_if_stopped(kSelection);
  switch (options.sampling) {
    case CurSampling::kPivotedQr:
      return {pivoted_order(A, count, seed, RandomStream::kSketch),
              pivoted_order(*At, count, seed, RandomStream::kCoSketch)};
    case CurSampling::kDeim:
    case CurSampling::kLeverage:
      return from_singular_vectors(A, count, options, control);
    case CurSampling::kNorms:
      return {weighted_order(squared_column_norms(A, control), seed, kColumnDraw),
              weighted_order(squared_column_norms(*At, control), seed, kRowDraw)};
    default:
      return {weighted_order(Vector::Ones(A.cols()), seed, kColumnDraw),
              weighted_order(Vector::Ones(A.rows()), seed, kRowDraw)};
  }
}

}  // namespace matapprox
