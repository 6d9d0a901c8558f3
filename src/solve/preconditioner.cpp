#include "matapprox/solve/preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

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

/// The k largest eigenpairs by modulus, descending, of the symmetric part of a product of rank k.
struct LowRankEigen {
  Matrix U;
  Vector values;
};

Index inner_size(const FactorProduct& B) {
  Index least = B.cols();
  for (const Factor& factor : B.factors()) least = std::min(least, factor_rows(factor));
  return least;
}

bool has_low_rank(const FactorProduct& B) {
  return B.factors().size() > 1 && factor_cols(B.factors().front()) < B.rows() &&
         factor_rows(B.factors().back()) < B.cols();
}

Matrix all_columns(const Factor& factor) {
  const FactorProduct one({factor});
  return one.columns_at(index_range(0, one.cols()));
}

/// (B + B^T)/2 lies in the span of the columns of the first factor and the rows of the last.
LowRankEigen low_rank_eigen(const FactorProduct& B) {
  Matrix basis = all_columns(B.factors().front());
  if (B.symmetrized() || !B.known_facts().symmetric.value_or(false)) {
    Factor last = B.factors().back();
    last.transposed = !last.transposed;
    const Matrix R = all_columns(last);
    basis.conservativeResize(Eigen::NoChange, basis.cols() + R.cols());
    basis.rightCols(R.cols()) = R;
  }
  // Orthonormal columns beyond n there are none.
  const Matrix Q = basis.cols() < basis.rows() ? kernels::thin_qr(std::move(basis))
                                               : Matrix::Identity(B.rows(), B.rows());
  const Matrix T = kernels::transpose_product(Q, B.apply(Q));
  const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(0.5 * (T + T.transpose()));

  std::vector<Index> order(static_cast<std::size_t>(eigen.values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(eigen.values(a)) > std::abs(eigen.values(b));
  });
  order.resize(static_cast<std::size_t>(std::min<Index>(inner_size(B), eigen.values.size())));
  return {kernels::product(Q, eigen.vectors(Eigen::all, order)), eigen.values(order)};
}

/// How many of the leading values, after `shift`, are above rounding.
Index significant(const Vector& values, double shift) {
  const double largest = values.size() > 0 ? std::abs(values(0)) : 0;
  const double rounding = static_cast<double>(values.size()) *
                          std::numeric_limits<double>::epsilon() * std::max(largest, std::abs(shift));
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
  if (!has_low_rank(*B)) return B;
  require(symmetric,
          "preconditioner: {} has low rank, is singular, and no preconditioner for a matrix that "
          "is not symmetric; what has full rank, such as a Chord approximation, is one",
          B->description());
  LowRankEigen eigen = low_rank_eigen(*B);
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
          "preconditioner: an approximation of the matrix itself serves only where the matrix is "
          "symmetric; approximate its inverse (--as inverse)");
  require(has_low_rank(B),
          "preconditioner: {} cannot be solved with cheaply; of approximations of the matrix "
          "itself those of low rank can (truncated_svd, nystrom), any form if it approximates the "
          "inverse (--as inverse)",
          B.description());
  LowRankEigen eigen = low_rank_eigen(B);
  const Index k = significant(eigen.values, shift);
  if (k == 0) throw NumericalError("preconditioner: the approximation plus its shift is zero");
  const Vector values = (eigen.values.head(k).array() + shift).abs();
  return std::make_shared<LowRankPlusIdentity>(
      eigen.U.leftCols(k), values(k - 1) * values.cwiseInverse(), 1.0);
}

}  // namespace matapprox
