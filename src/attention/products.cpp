#include "attention/products.hpp"

#include <ceres/jet.h>

#include "kernels/gemm.hpp"

namespace matapprox::attention {
namespace {

using kernels::Trans;

/// The transpose of a row-major view, as the column-major block with the same numbers.
template <class T>
ConstBlockOf<T> transposed(const ConstTokens<T>& A) {
  return Eigen::Map<const MatrixOf<T>, 0, Eigen::OuterStride<>>(
      A.data(), A.cols(), A.rows(), Eigen::OuterStride<>(A.outerStride()));
}

/// C^T = alpha op(B)^T op(A)^T (+ C^T)
template <class T>
void multiply_numbers(Trans trans_a,
                      const ConstTokens<T>& A,
                      Trans trans_b,
                      const ConstTokens<T>& B,
                      Tokens<T>& C,
                      double alpha,
                      bool add) {
  kernels::gemm(trans_b,
                transposed<T>(B),
                trans_a,
                transposed<T>(A),
                Eigen::Map<MatrixOf<T>, 0, Eigen::OuterStride<>>(
                    C.data(), C.cols(), C.rows(), Eigen::OuterStride<>(C.outerStride())),
                static_cast<T>(alpha),
                static_cast<T>(add ? 1 : 0));
}

/// The definition, for numbers that carry a derivative.
template <class T>
void multiply_by_definition(Trans trans_a,
                            const ConstTokens<T>& A,
                            Trans trans_b,
                            const ConstTokens<T>& B,
                            Tokens<T>& C,
                            double alpha,
                            bool add) {
  const Index depth = trans_a == Trans::kNo ? A.cols() : A.rows();
  for (Index i = 0; i < C.rows(); ++i) {
    for (Index j = 0; j < C.cols(); ++j) {
      T sum(0);
      for (Index k = 0; k < depth; ++k) {
        sum += (trans_a == Trans::kNo ? A(i, k) : A(k, i)) *
               (trans_b == Trans::kNo ? B(k, j) : B(j, k));
      }
      C(i, j) = add ? C(i, j) + alpha * sum : alpha * sum;
    }
  }
}

template <class T>
void multiply_any(Trans trans_a,
                  const ConstTokens<T>& A,
                  Trans trans_b,
                  const ConstTokens<T>& B,
                  Tokens<T>& C,
                  double alpha,
                  bool add) {
  if constexpr (std::is_floating_point_v<T>) {
    multiply_numbers<T>(trans_a, A, trans_b, B, C, alpha, add);
  } else {
    multiply_by_definition<T>(trans_a, A, trans_b, B, C, alpha, add);
  }
}

}  // namespace

template <class T>
void multiply(
    const ConstTokens<T>& A, const ConstTokens<T>& B, Tokens<T> C, double alpha, bool add) {
  multiply_any<T>(Trans::kNo, A, Trans::kNo, B, C, alpha, add);
}

template <class T>
void multiply_transposed(
    const ConstTokens<T>& A, const ConstTokens<T>& B, Tokens<T> C, double alpha, bool add) {
  multiply_any<T>(Trans::kYes, A, Trans::kNo, B, C, alpha, add);
}

template <class T>
void multiply_by_transpose(
    const ConstTokens<T>& A, const ConstTokens<T>& B, Tokens<T> C, double alpha, bool add) {
  multiply_any<T>(Trans::kNo, A, Trans::kYes, B, C, alpha, add);
}

// NOLINTBEGIN(bugprone-macro-parentheses)
#define MATAPPROX_INSTANTIATE_PRODUCT(multiply, T) \
  template void multiply<T>(const ConstTokens<T>&, const ConstTokens<T>&, Tokens<T>, double, bool)
#define MATAPPROX_INSTANTIATE_PRODUCTS(T)                \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply, T);            \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply_transposed, T); \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply_by_transpose, T)
// NOLINTEND(bugprone-macro-parentheses)
using Dual = ceres::Jet<double, 1>;
MATAPPROX_INSTANTIATE_PRODUCTS(float);
MATAPPROX_INSTANTIATE_PRODUCTS(double);
MATAPPROX_INSTANTIATE_PRODUCTS(Dual);

}  // namespace matapprox::attention
