#include "attention/kernels/bilinear.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox::attention {
namespace {

using kernels::Trans;

/// Returns the transpose of a row-major view: the column-major block with the same numbers.
template <class T>
ConstBlockOf<T> transposed(In<T> A) {
  return Eigen::Map<const MatrixOf<T>, 0, Eigen::OuterStride<>>(
      A.data(), A.cols(), A.rows(), Eigen::OuterStride<>(A.outerStride()));
}

/// C^T = alpha op(B)^T op(A)^T (+ C^T)
template <class T>
void multiply_as_gemm(
    Trans trans_a, In<T> A, Trans trans_b, In<T> B, Tokens<T>& C, double alpha, bool add) {
  kernels::gemm(trans_b,
                transposed<T>(B),
                trans_a,
                transposed<T>(A),
                Eigen::Map<MatrixOf<T>, 0, Eigen::OuterStride<>>(
                    C.data(), C.cols(), C.rows(), Eigen::OuterStride<>(C.outerStride())),
                static_cast<T>(alpha),
                static_cast<T>(add ? 1 : 0));
}

}  // namespace

template <class T>
void multiply(In<T> A, In<T> B, Out<T> C, double alpha, bool add) {
  multiply_as_gemm<T>(Trans::kNo, A, Trans::kNo, B, C, alpha, add);
}

template <class T>
void multiply_transposed(In<T> A, In<T> B, Out<T> C, double alpha, bool add) {
  multiply_as_gemm<T>(Trans::kYes, A, Trans::kNo, B, C, alpha, add);
}

template <class T>
void multiply_by_transpose(In<T> A, In<T> B, Out<T> C, double alpha, bool add) {
  multiply_as_gemm<T>(Trans::kNo, A, Trans::kYes, B, C, alpha, add);
}

// NOLINTBEGIN(bugprone-macro-parentheses)
#define MATAPPROX_INSTANTIATE_PRODUCT(multiply, T) \
  template void multiply<T>(const ConstTokens<T>&, const ConstTokens<T>&, Tokens<T>, double, bool)
#define MATAPPROX_INSTANTIATE_PRODUCTS(T)                \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply, T);            \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply_transposed, T); \
  MATAPPROX_INSTANTIATE_PRODUCT(multiply_by_transpose, T)
// NOLINTEND(bugprone-macro-parentheses)
MATAPPROX_INSTANTIATE_PRODUCTS(float);
MATAPPROX_INSTANTIATE_PRODUCTS(double);

}  // namespace matapprox::attention
