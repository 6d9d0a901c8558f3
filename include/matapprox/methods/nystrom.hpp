#pragma once

#include <array>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class NystromForm { kAuto, kPsd, kGeneralized };
enum class LandmarkSampling { kPivotedCholesky, kUniform, kLeverage, kKMeans };

template <>
struct EnumNames<NystromForm> {
  static constexpr std::array<std::string_view, 3> values{"auto", "psd", "generalized"};
};
template <>
struct EnumNames<LandmarkSampling> {
  static constexpr std::array<std::string_view, 4> values{
      "pivoted_cholesky", "uniform", "leverage", "kmeans"};
};

struct NystromOptions {
  Index rank = 0;             ///< k landmarks, 1..N; 0: the largest that fits the budget
  StorageBudget budget = {};  ///< unset: default_budget
  NystromForm form = NystromForm::kAuto;
  LandmarkSampling sampling = LandmarkSampling::kPivotedCholesky;
  std::vector<Index> landmarks = {};  ///< user-defined columns; overrides sampling and rank
  /// Relative to the largest eigenvalue of W with its diagonal scaled to 1; 1e-16..1e-1. Products
  /// with the stored factors are accurate to rounding / sqrt(tolerance): raise it to about 1e-5 for
  /// factors stored in single precision.
  double pseudo_inverse_tolerance = 1e-10;
  double oversampling = 1.5;  ///< generalized form: width of the second sketch over k
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Nystrom approximation of a square matrix.
///
/// psd: A ~ C W^+ C^T, C = A(:,J) N x k, W = A(J,J) [WS01]. Landmarks J are chosen by randomly
/// pivoted Cholesky in blocks with rejection [CETW22, ETW24], uniformly, by ridge leverage scores
/// estimated from a uniform sample of k columns [MM17], or k-means on points (kernel operators
/// only) [ZTK08]. Stored as C and a k x k matrix T with T T^T = W^+: as many numbers as W^+, with
/// half the loss of digits. Stores N k + k^2. Cost: k columns of A (about 1.5 k with rejection)
/// plus O(N k^2); memory 2 N k. Takes fewer than k landmarks if the residual is only rounding.
///
/// generalized: A ~ (A X) (Y^T A X)^+ (Y^T A) with two Gaussian sketches [Nak20], for any square A.
/// Stored as an orthonormal basis of A X, a k x k core and k combinations of the rows Y^T A: the
/// same matrix, but the loss of digits of the bare inverse is avoided. Stores 2 N k + k^2. Cost: 2
/// passes over A plus O(N k^2).
///
/// auto takes psd only if A is symmetric and no pivot and no residual diagonal is negative beyond
/// rounding; summary.form tells which form ran.
///
/// Pivoted Cholesky on the host calls control.checkpoint with the landmarks so far, also once when
/// it is stopped; a resumed run is bit-identical. Throws InvalidArgument (not square, rank,
/// landmark out of range or repeated, kmeans without points, resume state of another matrix),
/// BudgetTooSmall, NumericalError (psd requested but A is clearly not psd, NaN or Inf),
/// Interrupted.
Approximation nystrom(const LinearOperator& A,
                      const NystromOptions& options = {},
                      const RunControl& control = {});

}  // namespace matapprox
