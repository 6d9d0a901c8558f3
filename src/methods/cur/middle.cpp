#include "methods/cur/middle.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "factors/factor_value.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

constexpr const char* kMiddle = "cur";
constexpr double kDoubleRounding = std::numeric_limits<double>::epsilon();
/// One factor is used if its rounding costs at most this fraction of the error of the best U: the
/// sum of both squares is then at most 1.01 of the best.
constexpr double kSmallShare = 0.1;

/// Largest relative error of rounding a number to that precision.
double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::kFloat:
      return std::ldexp(1.0, -24);
    case Precision::kFloat16:
      return std::ldexp(1.0, -11);
    case Precision::kBfloat16:
      return std::ldexp(1.0, -8);
    default:
      return std::ldexp(1.0, -53);
  }
}

Matrix rounded(const Matrix& X, Precision precision) {
  return X.unaryExpr([precision](double x) { return rounded_number(x, precision); });
}

/// The exponent of a power of two.
int exponent_of(double power) { return std::ilogb(power); }

/// 2^exponent C = Q S Y^T D, where D are the lengths of the columns and S the p singular values
/// above rounding of C with columns of length 1. Q omits the rows where C is zero.
struct Decomposed {
  Matrix Q;  ///< |rows| x p, orthonormal columns
  Vector S;  ///< p
  Matrix Y;  ///< k x p
  Vector D;  ///< k
  int exponent = 0;
};

/// Returns the number of basis directions to keep. A direction contributes its part of the core,
/// whatever its singular value s, and loses a fraction of that to rounding: S and products with Y
/// S^-1 are known to about sqrt(k) eps S(0) / s, as sums of k terms with independent rounding
/// errors. So directions pay off down to s of a few sqrt(k) eps S(0), and each one that is left out
/// may be most of the error. Directions from which a stored U1 would be wrong by its own size, even
/// after U2 is fitted to it, are also left out.
Index numerical_rank(const Vector& S, Precision precision) {
  const double unit = precision == Precision::kDouble || precision == Precision::kPacked
                          ? 0.0
                          : unit_roundoff(precision);
  const double tolerance =
      std::max(2 * kDoubleRounding * std::sqrt(static_cast<double>(S.size())), unit * unit);
  Index count = 0;
  while (count < S.size() && S(count) > tolerance * S(0)) ++count;
  return count;
}

Decomposed decompose(const Matrix& values, Precision precision) {
  Matrix C = rounded(values, precision);
  // A factor that is out of range is reported where it is rounded.
  if (!C.allFinite()) C = values;
  const double scale = unit_scale(C);
  C *= scale;
  Decomposed result;
  result.exponent = exponent_of(scale);
  result.D = C.colwise().norm().transpose().unaryExpr([](double d) { return d > 0 ? d : 1.0; });
  C = C * result.D.cwiseInverse().asDiagonal();
  Matrix T;
  const Matrix Q = kernels::thin_qr(std::move(C), &T);
  const kernels::Svd small = kernels::svd(std::move(T));
  const Index p = numerical_rank(small.S, precision);
  result.Q = kernels::product(Q, small.U.leftCols(p));
  result.S = small.S.head(p);
  result.Y = small.V.leftCols(p);
  return result;
}

/// Returns D^-1 Y S^-1, which times Q^T is C^+ for 2^exponent C = Q S Y^T D.
Matrix inverse_part(const Decomposed& C) {
  return C.D.cwiseInverse().asDiagonal() * C.Y * C.S.cwiseInverse().asDiagonal();
}

/// The best core between the bases, which is 2^exponent A in them, and its residual.
struct Core {
  Matrix M;  ///< p x q
  int exponent = 0;
  double residual = 0;  ///< |A Q_R - Q_C M|_F, in the units of M: part of the least error
};

Core core_of(const LinearOperator& A,
             const std::vector<Index>& rows,
             const Decomposed& left,
             const std::vector<Index>& cols,
             const Decomposed& right) {
  Matrix Q = Matrix::Zero(A.cols(), right.Q.cols());
  Q(cols, Eigen::all) = right.Q;
  Matrix AQ = A.apply(Q);
  require_finite(AQ, kMiddle);
  const double scale = unit_scale(AQ);
  AQ *= scale;
  const Matrix chosen = AQ(rows, Eigen::all);
  Core core;
  core.M = kernels::transpose_product(left.Q, chosen);
  core.exponent = exponent_of(scale);
  AQ(rows, Eigen::all) = chosen - kernels::product(left.Q, core.M);
  core.residual = AQ.norm();
  return core;
}

/// True if products with one rounded U lose little in the Frobenius norm: an entry of S_C^-1 M
/// S_R^-1 is rounded once in storage, and products with it in doubles lose rounding times |C| |R|.
bool one_factor_is_stable(const Core& core,
                          const Decomposed& left,
                          const Decomposed& right,
                          Precision precision) {
  const double size =
      (left.S.cwiseInverse().asDiagonal() * core.M * right.S.cwiseInverse().asDiagonal()).norm();
  const double in_products = 4 * kDoubleRounding * left.S(0) * right.S(0);
  const double in_storage = unit_roundoff(precision);
  const auto k = static_cast<double>(left.Y.rows());
  const double ordinary = (40 * k * kDoubleRounding + 4 * in_storage) * core.M.norm();
  return std::hypot(in_products, in_storage) * size <=
         std::max(kSmallShare * core.residual, ordinary);
}

/// Returns 2^exponent X, even if that power is out of range.
Matrix scaled(const Matrix& X, int exponent) {
  return X.unaryExpr([exponent](double x) { return std::ldexp(x, exponent); });
}

Matrix one_factor(const Core& core, const Decomposed& left, const Decomposed& right) {
  const Matrix U = kernels::product(kernels::Trans::kNo,
                                    kernels::product(inverse_part(left), core.M),
                                    kernels::Trans::kYes,
                                    inverse_part(right));
  return scaled(U, left.exponent + right.exponent - core.exponent);
}

/// Fits M to the factor as it is stored: returns T^-1 M, where C 2^-exponent `stored` is the basis
/// times T.
Matrix fitted_to(const Matrix& stored, const Decomposed& C, int exponent, const Matrix& M) {
  const Matrix T = C.S.asDiagonal() *
                   kernels::transpose_product(C.Y, C.D.asDiagonal() * scaled(stored, -exponent));
  return Eigen::HouseholderQR<Matrix>(T).solve(M);
}

/// Returns U1, U2 and U3. U2 is fitted to U1 and U3 as they are stored, so that rounding them costs
/// nothing as long as they keep their ranks. Powers of two bring the three to about the same size,
/// at which they and products with them stay within the range of their precision.
std::vector<Factor> three_factors(const Core& core,
                                  const Decomposed& left,
                                  const Decomposed& right,
                                  Precision precision) {
  Matrix U1 = inverse_part(left);
  Matrix U3 = inverse_part(right);
  const int size = std::max(left.exponent - exponent_of(unit_scale(U1)),
                            right.exponent - exponent_of(unit_scale(U3)));
  const int shift = (-core.exponent - size) / 3;
  U1 = rounded(scaled(U1, left.exponent + shift), precision);
  U3 = rounded(scaled(U3, right.exponent + shift), precision);
  Matrix M = core.M;
  if (unit_roundoff(precision) > kDoubleRounding) {
    M = fitted_to(U1, left, left.exponent + shift, M);
    M = fitted_to(U3, right, right.exponent + shift, M.transpose()).transpose().eval();
  }
  return {make_factor("U1", std::move(U1)),
          make_factor("U2", scaled(M, -core.exponent - 2 * shift)),
          make_factor("U3", std::move(U3), true)};
}

}  // namespace

std::vector<Factor> best_middle(const LinearOperator& A,
                                const NonzeroRows& C,
                                const NonzeroRows& Rt,
                                const RunControl& control) {
  const Precision precision = control.stored_precision;
  const Decomposed left = decompose(C.values, precision);
  control.throw_if_stopped(kMiddle);
  const Decomposed right = decompose(Rt.values, precision);
  control.throw_if_stopped(kMiddle);
  const Index k = C.values.cols();
  if (left.S.size() == 0 || right.S.size() == 0) {
    return {make_factor("U", Matrix(Matrix::Zero(k, k)))};
  }
  const Core core = core_of(A, C.rows, left, Rt.rows, right);
  if (one_factor_is_stable(core, left, right, precision)) {
    Matrix U = one_factor(core, left, right);
    if (rounded(U, precision).allFinite()) return {make_factor("U", std::move(U))};
  }
  return three_factors(core, left, right, precision);
}

}  // namespace matapprox
