#pragma once

#include <memory>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// Scales a matrix by a power of 2 so that |A|_F is about 1. Does so only if |A|_F is known to be
/// so large or small that squares and fourth powers of entries may leave the range of doubles.
/// Scaling and its inverse are exact except for numbers that are subnormal in either unit.
class ScaledMatrix {
 public:
  /// Keeps a reference: A must outlive it. Copies the entries of a sparse matrix that is scaled.
  explicit ScaledMatrix(const LinearOperator& A);

  /// The matrix to approximate, 2^-exponent A.
  const LinearOperator& matrix() const { return scaled_ ? *scaled_ : A_; }
  bool is_scaled() const { return exponent_ != 0; }

  /// Returns `control` with checkpoints that contain approximations of A itself.
  RunControl control_for_fit(const RunControl& control) const;
  /// Returns 2^exponent times an approximation of matrix(). Multiplies the diagonal of singular
  /// values or eigenvalues. Chosen columns C and rows R become columns and rows of A. In any other
  /// product, multiplies the first factor.
  Approximation unscaled(const Approximation& fitted) const;

 private:
  const LinearOperator& A_;
  int exponent_ = 0;
  std::shared_ptr<const LinearOperator> scaled_;
};

}  // namespace matapprox
