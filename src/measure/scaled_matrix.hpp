#pragma once

#include <memory>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// A matrix in units of a power of 2 in which |A|_F is about 1, where it is known to be so far from
/// that that squares and fourth powers of entries may leave the range of doubles; any other matrix
/// is taken as it is. Both ways are exact but for numbers that are subnormal in either unit.
class ScaledMatrix {
 public:
  /// Keeps a reference: A must outlive it. Copies the entries of a sparse matrix that is scaled.
  explicit ScaledMatrix(const LinearOperator& A);

  /// The matrix to approximate, 2^-exponent A.
  const LinearOperator& matrix() const { return scaled_ ? *scaled_ : A_; }
  bool is_scaled() const { return exponent_ != 0; }

  /// `control` with checkpoints that hold approximations of A itself.
  RunControl control_for_fit(const RunControl& control) const;
  /// 2^exponent times an approximation of matrix(): the diagonal of singular values or eigenvalues
  /// is multiplied, the columns and rows that C and R were chosen from become those of A, of any
  /// other product its first factor.
  Approximation unscaled(const Approximation& fitted) const;

 private:
  const LinearOperator& A_;
  int exponent_ = 0;
  std::shared_ptr<const LinearOperator> scaled_;
};

}  // namespace matapprox
