#pragma once

#include <optional>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::krylov {

/// A product with an operator times a power of two. Half of the power is applied before the product
/// and half after it, so that neither side leaves the range of doubles if the scaled product is
/// near 1.
class ScaledProduct {
 public:
  /// The operator is A + mu I with mu = `shift`. Up to three products with a random vector measure
  /// its size; sizes within 2^-100 .. 2^100 are not scaled. Throws NumericalError, with `message`,
  /// for NaN or Inf in these products.
  ScaledProduct(const LinearOperator& A, double shift, const char* message);

  /// Returns 2^exponent() (A + mu I) x, or the product with the transpose. Throws NumericalError
  /// for NaN or Inf.
  Vector times(const Vector& x, bool transposed = false) const;
  int exponent() const { return exponent_; }

 private:
  const LinearOperator& A_;
  double shift_;
  const char* message_;
  int exponent_ = 0;
  double before_ = 1;
  double after_ = 1;
};

/// The matrix A + mu I and a preconditioner M, its approximate inverse, each times a power of two.
/// Products have one vector and are checked for NaN and Inf.
class System {
 public:
  System(const LinearOperator& A, double shift, const LinearOperator* M);

  Vector apply(const Vector& x);
  Vector apply_transpose(const Vector& x) const { return matrix_.times(x, true); }
  Vector precondition(const Vector& r) const;
  bool has_preconditioner() const { return preconditioner_.has_value(); }
  void drop_preconditioner() {
    preconditioner_.reset();
    lanczos_norm = 0;
  }

  /// apply() multiplies by A + mu I times 2 to this power.
  int exponent() const { return matrix_.exponent(); }
  /// The largest |A x| / |x| of all products so far, a lower bound of |A|_2.
  double norm() const { return norm_; }
  /// Largest column norm so far of the tridiagonal matrix of MINRES, a lower bound of the norm of
  /// M^1/2 A M^1/2 with the current M.
  double lanczos_norm = 0;

 private:
  ScaledProduct matrix_;
  std::optional<ScaledProduct> preconditioner_;
  double norm_ = 0;
};

}  // namespace matapprox::krylov
