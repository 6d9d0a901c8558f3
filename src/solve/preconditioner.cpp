#include "matapprox/solve/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "factors/low_rank.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/methods/eigenpairs.hpp"

namespace matapprox {
namespace {

/// U diag(d) U^T + c (I - U U^T), U n x k with orthonormal columns; symmetric. A product with one
/// vector takes 2 n k multiplications.
class LowRankPlusIdentity final : public LinearOperator {
 public:
  LowRankPlusIdentity(Matrix U, Vector d, double c)
      : U_(std::move(U)), above_(d.array() - c), c_(c) {}

  Index rows() const override { return U_.rows(); }
  Index cols() const override { return U_.rows(); }
  Cost cost() const override {
    const Index stored = U_.size() + U_.cols() + 1;
    const double apply = 2.0 * static_cast<double>(U_.size());
    return {stored, 8 * stored, apply, apply, -1};
  }
  KnownFacts known_facts() const override {
    KnownFacts facts;
    facts.symmetric = true;
    return facts;
  }
  std::string description() const override {
    return fmt::format("rank {} + {:.3g} (I - U U^T)", U_.cols(), c_);
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    Y = c_ * X;
    kernels::gemm(kernels::Trans::kNo,
                  U_,
                  kernels::Trans::kNo,
                  above_.asDiagonal() * kernels::transpose_product(U_, X),
                  Y,
                  1.0,
                  1.0);
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { do_apply(X, Y); }

  Matrix U_;
  Vector above_;  ///< d - c
  double c_;
};

/// B + c I for a symmetric B.
class PlusIdentity final : public LinearOperator {
 public:
  PlusIdentity(std::shared_ptr<const LinearOperator> B, double c) : B_(std::move(B)), c_(c) {}

  Index rows() const override { return B_->rows(); }
  Index cols() const override { return B_->cols(); }
  Cost cost() const override {
    const Cost inner = B_->cost();
    return {inner.stored_numbers + 1,
            inner.stored_bytes + 8,
            inner.multiplications_per_apply + static_cast<double>(rows()),
            inner.multiplications_per_column + 1,
            -1};
  }
  KnownFacts known_facts() const override {
    KnownFacts facts;
    facts.symmetric = true;
    return facts;
  }
  std::string description() const override {
    return fmt::format(
        "{} + {:.3g} I, not positive definite without the shift", B_->description(), c_);
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    B_->apply(X, Y);
    Y += c_ * X;
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { do_apply(X, Y); }

  std::shared_ptr<const LinearOperator> B_;
  double c_;
};

/// Makes a symmetric positive definite operator from an approximation of full rank.
std::shared_ptr<const LinearOperator> positive_definite(std::shared_ptr<const FactorProduct> B) {
  if (!is_symmetric(*B)) B = std::make_shared<FactorProduct>(B->factors(), true, B->precision());
  const double least = smallest_eigenvalue(*B).value;
  if (least > 0) return B;
  return std::make_shared<PlusIdentity>(B, -2 * least);
}

/// Number of leading values that are above rounding after `shift` is added.
Index significant(const Vector& values, double shift) {
  const double largest = values.size() > 0 ? std::abs(values(0)) : 0;
  const double rounding = static_cast<double>(values.size()) *
                          std::numeric_limits<double>::epsilon() *
                          std::max(largest, std::abs(shift));
  Index count = 0;
  while (count < values.size() && std::abs(values(count) + shift) > rounding) ++count;
  return count;
}

void require_square(const LinearOperator& B) {
  require(B.rows() == B.cols(),
          "preconditioner: the approximation is {} x {}, not square",
          B.rows(),
          B.cols());
}

}  // namespace

std::shared_ptr<const LinearOperator> jacobi_preconditioner(const LinearOperator& A, double shift) {
  require(A.rows() == A.cols(),
          "jacobi preconditioner: the matrix is {} x {}, not square",
          A.rows(),
          A.cols());
  Vector diagonal = A.diagonal().array() + shift;
  for (Index i = 0; i < diagonal.size(); ++i) {
    require(diagonal(i) != 0,
            "jacobi preconditioner: the diagonal entry of row {} (counted from 1) is 0",
            i + 1);
  }
  return std::make_shared<FactorProduct>(
      std::vector<Factor>{make_factor("D", Vector(diagonal.cwiseInverse()))});
}

std::shared_ptr<const LinearOperator> preconditioner_of_inverse(
    std::shared_ptr<const FactorProduct> B, bool symmetric) {
  require_square(*B);
  if (!has_low_rank(*B)) return symmetric ? positive_definite(std::move(B)) : B;
  require(symmetric,
          "preconditioner: {} has low rank and is singular: it cannot precondition a matrix that "
          "is not symmetric; use an approximation of full rank, such as Chord",
          B->description());
  const LowRankEigen eigen = low_rank_eigen(*B, inner_size(*B));
  const Index k = significant(eigen.values, 0);
  require(k > 0, "preconditioner: the approximation of the inverse is zero");
  const Vector values = eigen.values.head(k).cwiseAbs();
  return std::make_shared<LowRankPlusIdentity>(eigen.U.leftCols(k), values, values(k - 1));
}

std::shared_ptr<const LinearOperator> preconditioner_of_matrix(const FactorProduct& B,
                                                               bool symmetric,
                                                               double shift) {
  require_square(B);
  require(symmetric,
          "preconditioner: an approximation of the matrix itself is a preconditioner only if the "
          "matrix is symmetric; approximate its inverse (--as inverse)");
  require(has_low_rank(B),
          "preconditioner: systems with {} cannot be solved cheaply; use an approximation of low "
          "rank (truncated_svd, nystrom), or any approximation of the inverse (--as inverse)",
          B.description());
  const LowRankEigen eigen = low_rank_eigen(B, inner_size(B));
  const Index k = significant(eigen.values, shift);
  if (k == 0) throw NumericalError("preconditioner: the approximation plus its shift is zero");
  const Vector values = (eigen.values.head(k).array() + shift).abs();
  return std::make_shared<LowRankPlusIdentity>(
      eigen.U.leftCols(k), values(k - 1) * values.cwiseInverse(), 1.0);
}

}  // namespace matapprox
