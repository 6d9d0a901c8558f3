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
  Matrix own;      ///< A(J, J); set later where the columns are on the host
  /// Columns proposed on a GPU and not yet accepted, in place of `columns`; else null.
  std::unique_ptr<PartialCholesky> on_gpu;
  Index rounds = 1;
  /// Reason why A is not positive semidefinite, if the sampling detected it; else empty.
  std::string negative;
  /// Diagonal of A - C W^+ C^T, if the sampling computed it.
  std::optional<Vector> residual_diagonal;
};

using LandmarksCheckpoint = std::function<void(Landmarks so_far, const ResumeState& state)>;

/// Diagonal entries below -kNegative times the largest one are negative beyond rounding.
inline constexpr double kNegative = 1e-10;

/// Chooses landmarks by randomly pivoted Cholesky [CETW22], in blocks with rejection [ETW24]: they
/// are distributed as if drawn one by one with probability proportional to the residual diagonal.
/// `diagonal` is that of A, not negative. Ends early if only rounding is left.
///
/// On the host, `checkpoint` receives the landmarks so far and the state to resume from, when a
/// checkpoint is due and when the run is stopped. With control.resume the run continues from there
/// to the same bits. Throws InvalidArgument for a state that contradicts itself, NotAvailable to
/// resume on a GPU.
Landmarks pivoted_cholesky_landmarks(const LinearOperator& A,
                                     const Vector& diagonal,
                                     Index k,
                                     std::uint64_t seed,
                                     const RunControl& control,
                                     const LandmarksCheckpoint& checkpoint = nullptr);

/// Draws k distinct indices of 0..n-1 uniformly; ascending.
std::vector<Index> uniform_landmarks(Index n, Index k, std::uint64_t seed);

/// Draws k distinct indices with probability proportional to approximate ridge leverage scores,
/// estimated from a uniform preliminary sample of k columns [MM17].
std::vector<Index> leverage_landmarks(const LinearOperator& A,
                                      const Vector& diagonal,
                                      Index k,
                                      std::uint64_t seed,
                                      const RunControl& control);

/// Returns the k points nearest to the k-means centers of the rows of `points`, ascending. The
/// initial centers are drawn by k-means++ [AV07].
std::vector<Index> kmeans_landmarks(const Matrix& points,
                                    Index k,
                                    std::uint64_t seed,
                                    const RunControl& control);

/// T (k x k) with T T^T = W^+ for a symmetric W, from its eigendecomposition after scaling its
/// diagonal to 1. Eigenvalues up to tolerance times the largest count as zero. `least` is the
/// smallest eigenvalue over the largest.
struct InverseRoot {
  Matrix T;
  double least = 0;
};
InverseRoot inverse_root(const Matrix& W, double tolerance);

}  // namespace matapprox
