#include "methods/nystrom/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/stored_as.hpp"
#include "methods/block_basis.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/landmarks.hpp"

namespace matapprox {
namespace {

/// Returns A S, in the memory space of A if that keeps results, else on the host.
FactorValue kept_product(const ConstMultiVectorView& A, const Matrix& S) {
  if (A.space->is_distributed()) return PlacedMatrix(product(A, S));
  return product_to_host(A, S);
}

FactorValue kept_basis(BlockBasis basis) {
  if (basis.columns().space->is_distributed()) return PlacedMatrix(std::move(basis).release());
  return to_host(basis.columns());
}

}  // namespace

NystromFactors generalized_nystrom(const LinearOperator& A,
                                   Index k,
                                   const NystromOptions& options,
                                   const RunControl& control) {
  const Index n = A.rows();
  const auto wider = static_cast<Index>(std::ceil(options.oversampling * static_cast<double>(k)));
  const Index l = std::min(n, wider);
  control.throw_if_stopped("nystrom");
  const auto& space = A.memory_space();
  const auto random = [&](RandomStream stream, Index columns) {
    return random_normal_block(space, options.seed, stream, n, columns);
  };
  MultiVector AX = A.apply(random(RandomStream::kSketch, k).columns());
  const double scale = finite_unit_scale(AX, "nystrom");
  control.throw_if_stopped("nystrom");
  const MultiVector Y = random(RandomStream::kCoSketch, l);
  const MultiVector AtY = A.apply_transpose(Y.columns());
  finite_unit_scale(AtY, "nystrom");
  space->scale(AX.data(), AX.size(), scale);

  // Let A X = Q R and Y^T A X = U S V^T; then A ~ Q (R V S^+) (U^T Y^T A). The core R V S^+ is of
  // the size of |A X v| / |Y^T A X v|, so no digits are lost, whatever the conditioning [Nak20].
  const kernels::Svd small = kernels::svd(transpose_product(Y.columns(), AX.columns()));
  const double cut = 4e-16 * static_cast<double>(l) * small.S(0);
  const Vector inverse = small.S.unaryExpr([&](double s) { return s > cut ? 1.0 / s : 0.0; });
  BlockBasis basis(space, n, k, options.seed, RandomStream::kSketch);
  const Matrix R = basis.append(std::move(AX));
  NystromFactors result;
  result.rank = k;
  Matrix core = kernels::product(R, small.V * inverse.asDiagonal());
  result.factors = {make_factor("Q", kept_basis(std::move(basis))),
                    make_factor("M", std::move(core)),
                    make_factor("B", kept_product(AtY.columns(), small.U), true)};
  return result;
}

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
      const auto* kernel = kernel_matrix(A);
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
