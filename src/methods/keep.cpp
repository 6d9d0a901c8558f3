#include "matapprox/methods/keep.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "factors/low_rank.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/eigenpairs.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

Approximation with_factors(const Approximation& B,
                           const std::vector<Factor>& factors,
                           bool symmetrized,
                           const std::string& what) {
  Summary summary = B.summary;
  summary.message += summary.message.empty() ? what : "; " + what;
  return {round_factors(factors, B.precision()), std::move(summary), symmetrized, B.precision()};
}

bool is_known_symmetric(const LinearOperator& B) {
  return B.known_facts().symmetric.value_or(false);
}

/// Returns [F | C]. If `transposed`, `value` is F^T and the result is [F | C]^T.
FactorValue with_columns(const FactorValue& value, bool transposed, const Matrix& C) {
  if (const auto* dense = std::get_if<Matrix>(&value)) {
    if (transposed) {
      Matrix wider(dense->rows() + C.cols(), dense->cols());
      wider << *dense, C.transpose();
      return wider;
    }
    Matrix wider(dense->rows(), dense->cols() + C.cols());
    wider << *dense, C;
    return wider;
  }
  const auto& sparse = std::get<SparseMatrix>(value);
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < sparse.rows(); ++i) {
    for (SparseMatrix::InnerIterator at(sparse, i); at; ++at)
      entries.emplace_back(at.row(), at.col(), at.value());
  }
  SparseMatrix wider(sparse.rows() + (transposed ? C.cols() : 0),
                     sparse.cols() + (transposed ? 0 : C.cols()));
  for (Index i = 0; i < C.rows(); ++i) {
    for (Index j = 0; j < C.cols(); ++j) {
      if (transposed) {
        entries.emplace_back(sparse.rows() + j, i, C(i, j));
      } else {
        entries.emplace_back(i, sparse.cols() + j, C(i, j));
      }
    }
  }
  wider.setFromTriplets(entries.begin(), entries.end());
  return wider;
}

/// Returns the block-diagonal matrix of `value` and diag(tail).
FactorValue with_diagonal(const FactorValue& value, const Vector& tail) {
  if (const auto* diagonal = std::get_if<Vector>(&value)) {
    Vector longer(diagonal->size() + tail.size());
    longer << *diagonal, tail;
    return longer;
  }
  if (const auto* dense = std::get_if<Matrix>(&value)) {
    Matrix larger = Matrix::Zero(dense->rows() + tail.size(), dense->cols() + tail.size());
    larger.topLeftCorner(dense->rows(), dense->cols()) = *dense;
    larger.bottomRightCorner(tail.size(), tail.size()) = tail.asDiagonal();
    return larger;
  }
  const auto& sparse = std::get<SparseMatrix>(value);
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < sparse.rows(); ++i) {
    for (SparseMatrix::InnerIterator at(sparse, i); at; ++at)
      entries.emplace_back(at.row(), at.col(), at.value());
  }
  for (Index k = 0; k < tail.size(); ++k)
    entries.emplace_back(sparse.rows() + k, sparse.cols() + k, tail(k));
  SparseMatrix larger(sparse.rows() + tail.size(), sparse.cols() + tail.size());
  larger.setFromTriplets(entries.begin(), entries.end());
  return larger;
}

bool is_table(const FactorValue& value) {
  return std::holds_alternative<Matrix>(value) || std::holds_alternative<SparseMatrix>(value);
}

void require_room(const Approximation& B, bool symmetric) {
  const std::vector<Factor>& factors = B.factors();
  bool fits = factors.size() > 1 && is_table(*factors.front().value) &&
              is_table(*factors.back().value) && (symmetric || !B.symmetrized());
  for (std::size_t p = 1; p + 1 < factors.size(); ++p) {
    fits =
        fits && (is_table(*factors[p].value) || std::holds_alternative<Vector>(*factors[p].value));
  }
  require(fits,
          "keep row_sums: {} cannot hold another term; products of dense, sparse and diagonal "
          "factors can (truncated_svd, nystrom, cur)",
          B.description());
}

/// Returns the factors of F_1 ... F_p + L diag(tail) R^T. Factors that share a value share it in
/// the result; the first and the last do so only if L and R are the same object.
std::vector<Factor> with_term(const std::vector<Factor>& factors,
                              const Matrix& L,
                              const Vector& tail,
                              const Matrix& R) {
  std::vector<Factor> result = factors;
  const std::size_t last = factors.size() - 1;
  // Without a factor in between, the first factor takes the diagonal.
  const bool inner = last > 1;
  result[0].value = std::make_shared<const FactorValue>(with_columns(
      *factors[0].value, factors[0].transposed, inner ? L : Matrix(L * tail.asDiagonal())));
  const bool mirrored_ends = &L == &R && inner && factors[0].value == factors[last].value &&
                             factors[0].transposed != factors[last].transposed;
  result[last].value = mirrored_ends ? result[0].value
                                     : std::make_shared<const FactorValue>(with_columns(
                                           *factors[last].value, !factors[last].transposed, R));
  // The tail extends the first diagonal factor, or the first inner factor if none is diagonal; ones
  // extend the others.
  std::size_t taker = 1;
  for (std::size_t p = 1; p < last; ++p) {
    if (std::holds_alternative<Vector>(*factors[p].value)) {
      taker = p;
      break;
    }
  }
  for (std::size_t p = 1; p < last; ++p) {
    const Vector ones = Vector::Ones(tail.size());
    std::size_t first = 1;
    while (factors[first].value != factors[p].value) ++first;
    const bool shares = first < p && first != taker && p != taker;
    result[p].value = shares ? result[first].value
                             : std::make_shared<const FactorValue>(
                                   with_diagonal(*factors[p].value, p == taker ? tail : ones));
  }
  return result;
}

/// Inserts a diagonal of ones between the halves of F_1 .. F_h F_h^T .. F_1^T, unless there is a
/// diagonal factor, because the product with an indefinite term needs its signs there.
std::vector<Factor> with_middle(std::vector<Factor> factors) {
  for (const Factor& factor : factors) {
    if (std::holds_alternative<Vector>(*factor.value)) return factors;
  }
  const std::size_t half = factors.size() / 2;
  const Index k = factor_cols(factors[half - 1]);
  factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(half),
                 make_factor("S", Vector(Vector::Ones(k))));
  return factors;
}

Approximation keep_row_sums(const LinearOperator& A, const Approximation& B) {
  const bool symmetric = is_symmetric(A);
  require_room(B, symmetric);
  const Vector ones = Vector::Ones(A.cols());
  Vector difference = A.apply(ones) - B.apply(ones);
  const auto n = static_cast<double>(A.cols());
  const Vector share = Vector::Constant(1, 1 / n);
  const std::string what = "row sums kept";
  if (!symmetric) {
    return with_factors(B, with_term(B.factors(), difference, share, ones), false, what);
  }
  if (B.symmetrized() || !is_known_symmetric(B)) {
    // The term for S = (B + B^T)/2, with d = A 1 - S 1, is the symmetric part of
    // (2 d - (1^T d)/n 1) 1^T / n.
    difference = A.apply(ones) - (B.apply(ones) + B.apply_transpose(ones)) / 2;
    const Vector left = 2 * difference - difference.mean() * ones;
    return with_factors(B, with_term(B.factors(), left, share, ones), true, what);
  }
  // Let q = 1 / sqrt(n), p the unit vector of the part of d orthogonal to q, and d = a q + b p.
  // Then the term (d 1^T + 1 d^T)/n - (1^T d) 1 1^T/n^2 is (a q q^T + b (p q^T + q p^T)) / sqrt(n).
  const Vector q = ones / std::sqrt(n);
  const double a = q.dot(difference);
  Vector p = difference - a * q;
  const double b = p.stableNorm();  // the squares may leave the range of doubles
  if (b > 0) p /= b;
  Matrix S(2, 2);
  S << a, b, b, 0;
  const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(S / std::sqrt(n));
  Matrix L(A.cols(), 2);
  L << q, p;
  L = (L * eigen.vectors).eval();
  return with_factors(B, with_term(with_middle(B.factors()), L, eigen.values, L), false, what);
}

Approximation keep_symmetric(const LinearOperator& A, const Approximation& B) {
  require_property(A, KeptProperty::kSymmetric);
  if (is_known_symmetric(B)) return B;
  return with_factors(B, B.factors(), true, "symmetric part taken");
}

Approximation keep_psd(const LinearOperator& A, const Approximation& B) {
  require_property(A, KeptProperty::kPsd);
  Approximation S = keep_symmetric(A, B);
  const SmallestEigenvalue least = smallest_eigenvalue(S);
  const double rounding = 1e-12 * least.largest_modulus;
  if (least.value >= -rounding) return S;
  require(has_low_rank(S),
          "keep psd: {} has the eigenvalue {:.3g} and is not of low rank; no product of factors "
          "can represent the shift that it needs",
          S.description(),
          least.value);
  const LowRankEigen eigen = low_rank_eigen(S, S.rows());
  std::vector<Index> positive;
  for (Index k = 0; k < eigen.values.size(); ++k) {
    if (eigen.values(k) > rounding) positive.push_back(k);
  }
  if (positive.empty()) positive.push_back(0);
  const Factor U = make_factor("U", Matrix(eigen.U(Eigen::all, positive)));
  return with_factors(
      B,
      {U, make_factor("L", Vector(eigen.values(positive).cwiseMax(0.0))), {U.name, U.value, true}},
      false,
      fmt::format("eigenvalues down to {:.3g} set to 0", least.value));
}

}  // namespace

void require_property(const LinearOperator& A, KeptProperty property) {
  if (property != KeptProperty::kSymmetric && property != KeptProperty::kPsd) return;
  require_symmetric(A, fmt::format("keep {} requires a symmetric matrix", enum_name(property)));
}

Approximation keep(const LinearOperator& A, const Approximation& B, KeptProperty property) {
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "keep: the approximation is {} x {}, the matrix {} x {}",
          B.rows(),
          B.cols(),
          A.rows(),
          A.cols());
  if (property == KeptProperty::kNothing) return B;
  const Approximation here(host_factors(B.factors()), B.summary, B.symmetrized(), B.precision());
  if (property == KeptProperty::kRowSums) return keep_row_sums(A, here);
  if (property == KeptProperty::kSymmetric) return keep_symmetric(A, here);
  return keep_psd(A, here);
}

}  // namespace matapprox
