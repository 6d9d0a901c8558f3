#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/operators/kernel.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/forms.hpp"
#include "methods/nystrom/landmarks.hpp"

namespace matapprox {
namespace {

std::vector<Index> chosen_landmarks(const LinearOperator& A,
                                    const Vector& diagonal,
                                    Index k,
                                    const NystromOptions& options,
                                    const RunControl& control) {
  if (!options.landmarks.empty()) return options.landmarks;
  switch (options.sampling) {
    case LandmarkSampling::kLeverage:
      return leverage_landmarks(A, diagonal, k, options.seed, control);
    case LandmarkSampling::kKMeans: {
      const auto* kernel = dynamic_cast<const KernelOperator*>(&A.underlying());
      if (kernel == nullptr) {
        throw InvalidArgument(fmt::format(
            "nystrom: kmeans sampling needs the kernel matrix of points; this matrix is {}",
            A.description()));
      }
      return kmeans_landmarks(kernel->points(), k, options.seed, control);
    }
    default:
      return uniform_landmarks(A.rows(), k, options.seed);
  }
}

bool are_pivots(const NystromOptions& options) {
  return options.landmarks.empty() && options.sampling == LandmarkSampling::kPivotedCholesky;
}

Landmarks take_landmarks(const LinearOperator& A,
                         const Vector& diagonal,
                         Index k,
                         const NystromOptions& options,
                         const RunControl& control,
                         const LandmarksCheckpoint& checkpoint) {
  if (are_pivots(options))
    return pivoted_cholesky_landmarks(A, diagonal, k, options.seed, control, checkpoint);
  Landmarks result;
  result.indices = chosen_landmarks(A, diagonal, k, options, control);
  control.throw_if_stopped("nystrom");
  result.on_gpu = make_gpu_cholesky(A, static_cast<Index>(result.indices.size()));
  if (result.on_gpu) {
    result.own = result.on_gpu->propose(result.indices);
  } else {
    result.columns = A.columns_at(result.indices);
    require_finite(result.columns, "nystrom");
  }
  return result;
}

/// Returns the least entry of diag(A - C T T^T C^T) and leaves the columns C on the host.
double min_residual(const Vector& diagonal, Landmarks& found, double scale, const Matrix& T) {
  if (!found.on_gpu) {
    constexpr Index kTileRows = 8192;  // avoids a second copy of all columns
    double least = std::numeric_limits<double>::infinity();
    for (Index first = 0; first < diagonal.size(); first += kTileRows) {
      const Index count = std::min(kTileRows, diagonal.size() - first);
      const Matrix CT = kernels::product(found.columns.middleRows(first, count) * scale, T);
      const Vector residual = diagonal.segment(first, count) - row_squared_norms(CT);
      least = std::min(least, residual.minCoeff());
    }
    return least;
  }
  const Index k = T.rows();
  Matrix square = Matrix::Zero(k, k);
  square.leftCols(T.cols()) = T * scale;
  Vector residual = diagonal;
  const double least = found.on_gpu->accept(index_range(0, k), Matrix(k, 0), square, residual);
  found.columns = found.on_gpu->take_columns();
  return least;
}

/// Makes the factors from the landmarks. `unscaled` is the diagonal of A.
NystromFactors factors_of(Landmarks found,
                          const Vector& unscaled,
                          Index k,
                          const NystromOptions& options) {
  // Squares of entries near 1e+-150 leave the range of doubles, so all is computed in units of the
  // diagonal.
  const double scale = unit_scale(unscaled);
  const Vector diagonal = unscaled * scale;
  NystromFactors result;
  result.iterations = found.rounds;
  if (!found.negative.empty()) {
    result.objection = found.negative;
    return result;
  }
  if (found.indices.empty()) {  // A = 0: any column will do
    found.indices = {0};
    found.columns = Matrix::Zero(unscaled.size(), 1);
  }
  if (!found.on_gpu) found.own = found.columns(found.indices, Eigen::all);
  result.rank = static_cast<Index>(found.indices.size());
  const Matrix W = found.own * scale;
  InverseRoot root = inverse_root((W + W.transpose()) / 2, options.pseudo_inverse_tolerance);
  if (root.least < -kNegative) {
    result.objection =
        fmt::format("A(J,J) has an eigenvalue of {:.3g} times its largest", root.least);
    return result;
  }
  if (!found.residual_diagonal) {
    const double least = min_residual(diagonal, found, scale, root.T);
    if (least < -1e-8 * diagonal.maxCoeff()) {
      result.objection = fmt::format("the residual diagonal has the entry {:.3g}", least / scale);
      return result;
    }
  }
  if (result.rank < k) {
    result.message =
        fmt::format("the residual after {} of {} landmarks is only rounding", result.rank, k);
  }
  result.landmarks = found.indices;
  const Factor C = make_factor("C", std::move(found.columns));
  const Factor T = make_factor("T", Matrix(root.T * std::sqrt(scale)));
  result.factors = {C, T, {"T", T.value, true}, {"C", C.value, true}};
  return result;
}

}  // namespace

NystromFactors psd_nystrom(const LinearOperator& A,
                           const Vector& diagonal,
                           Index k,
                           const NystromOptions& options,
                           const RunControl& control,
                           const NystromCheckpoint& checkpoint) {
  require(control.resume == nullptr || are_pivots(options),
          "nystrom: the state to resume belongs to another sampling");
  const auto publish = [&](Landmarks so_far, const ResumeState& state) {
    const JoinStopScope nobody_stops(nullptr);
    NystromFactors factors = factors_of(std::move(so_far), diagonal, k, options);
    factors.message = fmt::format("{} of {} landmarks so far", factors.rank, k);
    if (factors.objection.empty()) checkpoint(factors, state);
  };
  return factors_of(
      take_landmarks(A, diagonal, k, options, control, publish), diagonal, k, options);
}

}  // namespace matapprox
