#pragma once

#include "attention/kernels/elementwise.hpp"
#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {

/// Y = softmax over each row of scale X.
template <class T>
void softmax_rows(In<T> X, double scale, Out<T> Y) {
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.cols(); ++j) Y(i, j) = X(i, j) * static_cast<T>(scale);
    kernels::softmax_row(Y.row(i).data(), Y.row(i).data(), Y.cols());
  }
}

/// Computes dX from dY and the result Y of softmax_rows. dX and dY may be the same array.
template <class T>
void softmax_rows_backward(In<T> Y, double scale, In<T> dY, Out<T> dX) {
  for (Index i = 0; i < Y.rows(); ++i) {
    kernels::softmax_row_backward(
        Y.row(i).data(), dY.row(i).data(), dX.row(i).data(), Y.cols(), false);
    dX.row(i) *= T(scale);
  }
}

/// Sets `largest` to the largest entry of each column of X among the tokens. Returns false if there
/// are none.
template <class T>
bool largest_of_columns(Mask mask, In<T> X, Out<T> largest) {
  bool any = false;
  for (Index i = 0; i < X.rows(); ++i) {
    if (!is_token(mask, i)) continue;
    for (Index j = 0; j < X.cols(); ++j) {
      if (!any || X(i, j) > largest(0, j)) largest(0, j) = X(i, j);
    }
    any = true;
  }
  return any;
}

/// Y = softmax over each column of scale X. Rows of padding are left out and become 0.
template <class T>
void softmax_columns(Context<T> context, Mask mask, In<T> X, double scale, Out<T> Y) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> largest = scope.take(1, X.cols());
  TokenMap<T> sum = scope.take(1, X.cols());
  const bool any = largest_of_columns<T>(mask, X, largest);
  sum.setZero();
  for (Index i = 0; i < X.rows(); ++i) {
    if (!is_token(mask, i)) {
      Y.row(i).setZero();
      continue;
    }
    Y.row(i) = (X.row(i) - largest.row(0)) * T(scale);
    kernels::exp(Y.row(i).data(), Y.row(i).data(), Y.cols());
    sum.row(0) += Y.row(i);
  }
  if (!any) return;
  for (Index i = 0; i < X.rows(); ++i) Y.row(i).array() /= sum.row(0).array();
}

template <class T>
void softmax_columns_backward(Context<T> context, In<T> Y, double scale, In<T> dY, Out<T> dX) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> mean = scope.take(1, Y.cols());
  mean.setZero();
  for (Index i = 0; i < Y.rows(); ++i) mean.row(0).array() += Y.row(i).array() * dY.row(i).array();
  for (Index i = 0; i < Y.rows(); ++i)
    dX.row(i).array() = T(scale) * Y.row(i).array() * (dY.row(i).array() - mean.row(0).array());
}

}  // namespace matapprox::attention
