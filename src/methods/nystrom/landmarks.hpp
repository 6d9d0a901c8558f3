#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/partial_cholesky.hpp"
#include "matapprox/methods/nystrom.hpp"

namespace matapprox {

/// Chosen landmarks and their columns of A.
struct Landmarks {
  std::vector<Index> indices;
  Matrix columns;  ///< A(:, J), N x |J|
  Matrix own;      ///< A(J, J), where the columns are on a GPU
  /// Where the columns are on a GPU, in place of `columns`: proposed there and not yet kept.
  std::unique_ptr<PartialCholesky> on_gpu;
  Index rounds = 1;
  /// Why A is not positive semidefinite, where the sampling came upon it.
  std::string negative;
  /// The diagonal of A - C W^+ C^T, where the sampling knows it.
  std::optional<Vector> residual_diagonal;
};

using LandmarksCheckpoint = std::function<void(Landmarks so_far, const ResumeState& state)>;

/// Diagonal entries below -kNegative times the largest one are negative beyond rounding.
inline constexpr double kNegative = 1e-10;

/// Randomly pivoted Cholesky [CETW22], in blocks with rejection [ETW24]: the landmarks are
/// distributed as if drawn one by one with probability proportional to the residual diagonal.
/// `diagonal` is that of A, not negative; ends early where nothing but rounding is left.
///
/// On the host `checkpoint` gets the landmarks so far and the state to go on from, when one is due
/// and when it is stopped; with control.resume it goes on from there to the same bits. Throws
/// InvalidArgument for a state that contradicts itself, NotAvailable to resume on a GPU.
Landmarks pivoted_cholesky_landmarks(const LinearOperator& A,
                                     const Vector& diagonal,
                                     Index k,
                                     std::uint64_t seed,
                                     const RunControl& control,
                                     const LandmarksCheckpoint& checkpoint = nullptr);

/// k distinct indices of 0..n-1, uniformly, ascending.
std::vector<Index> uniform_landmarks(Index n, Index k, std::uint64_t seed);

/// k distinct indices drawn with probability proportional to approximate ridge leverage scores,
/// from a uniform pilot sample of k columns [MM17].
std::vector<Index> leverage_landmarks(const LinearOperator& A,
                                      const Vector& diagonal,
                                      Index k,
                                      std::uint64_t seed,
                                      const RunControl& control);

/// The k points nearest to k-means centers of the rows of `points`, ascending; k-means++ start
/// [AV07].
std::vector<Index> kmeans_landmarks(const Matrix& points,
                                    Index k,
                                    std::uint64_t seed,
                                    const RunControl& control);

/// T (k x r) with T T^T = W^+ for a symmetric W, from its eigendecomposition after scaling its
/// diagonal to 1; eigenvalues up to tolerance times the largest count as zero. `least` is the
/// smallest eigenvalue over the largest.
struct InverseRoot {
  Matrix T;
  double least = 0;
};
InverseRoot inverse_root(const Matrix& W, double tolerance);

}  // namespace matapprox
