#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

/// Returns the row of the largest entry of column j among the tokens, or -1 without tokens.
template <class T>
Index row_of_largest(Mask mask, In<T> X, Index j) {
  Index row = -1;
  for (Index i = 0; i < X.rows(); ++i) {
    if (is_token(mask, i) && (row < 0 || X(i, j) > X(row, j))) row = i;
  }
  return row;
}

template <class T>
void pool_largest(Mask mask, In<T> X, Out<T> Y) {
  for (Index j = 0; j < X.cols(); ++j) {
    const Index row = row_of_largest(mask, X, j);
    Y(0, j) = row < 0 ? T(0) : X(row, j);
  }
}

template <class T>
void pool_mean(Mask mask, In<T> X, Out<T> Y) {
  Y.setZero();
  const Index count = count_tokens(mask, X.rows());
  if (count == 0) return;
  for (Index i = 0; i < X.rows(); ++i) {
    if (is_token(mask, i)) Y.row(0) += X.row(i);
  }
  Y *= T(1.0 / static_cast<double>(count));
}

/// Adds to dX the gradient of pool_largest; below, that of pool_mean.
template <class T>
void pull_back_largest(Mask mask, In<T> X, In<T> dY, Out<T> dX) {
  for (Index j = 0; j < X.cols(); ++j) {
    const Index row = row_of_largest(mask, X, j);
    if (row >= 0) dX(row, j) += dY(0, j);
  }
}

template <class T>
void pull_back_mean(Mask mask, In<T> dY, Out<T> dX) {
  const Index count = count_tokens(mask, dX.rows());
  if (count == 0) return;
  const T share = T(1.0 / static_cast<double>(count));
  for (Index i = 0; i < dX.rows(); ++i) {
    if (is_token(mask, i)) dX.row(i) += dY.row(0) * share;
  }
}

}  // namespace

template <class T>
Pooling<T>::Pooling(Pool pool, Index width, Index length)
    : pool_(pool), width_(width), length_(length) {}

template <class T>
Index Pooling<T>::width_out() const {
  if (pool_ == Pool::kFlatten) return width_ * length_;
  return pool_ == Pool::kMaxMean ? 2 * width_ : width_;
}

template <class T>
void Pooling<T>::forward(Context<T> context, In<T> X, Out<T> Y) const {
  switch (pool_) {
    case Pool::kFlatten:
      require(X.rows() == length_,
              "pool: flatten is for sequences of {} tokens; this one has {}; pad it, or use "
              "another pool",
              length_,
              X.rows());
      for (Index i = 0; i < X.rows(); ++i) {
        Y.row(0).segment(i * width_, width_) = X.row(i);
        if (!is_token(context.mask, i)) Y.row(0).segment(i * width_, width_).setZero();
      }
      break;
    case Pool::kCls:
      Y.row(0) = X.row(0);
      if (!is_token(context.mask, 0)) Y.setZero();
      break;
    case Pool::kMean:
      pool_mean<T>(context.mask, X, Y);
      break;
    case Pool::kMax:
      pool_largest<T>(context.mask, X, Y);
      break;
    case Pool::kMaxMean:
      pool_largest<T>(context.mask, X, Y.leftCols(width_));
      pool_mean<T>(context.mask, X, Y.rightCols(width_));
      break;
    case Pool::kNone:
      copy_tokens<T>(context.mask, X, Y);
      break;
  }
}

template <class T>
void Pooling<T>::backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX) const {
  dX.setZero();
  switch (pool_) {
    case Pool::kFlatten:
      for (Index i = 0; i < X.rows(); ++i) {
        if (is_token(context.mask, i)) dX.row(i) = dY.row(0).segment(i * width_, width_);
      }
      break;
    case Pool::kCls:
      if (is_token(context.mask, 0)) dX.row(0) = dY.row(0);
      break;
    case Pool::kMean:
      pull_back_mean<T>(context.mask, dY, dX);
      break;
    case Pool::kMax:
      pull_back_largest<T>(context.mask, X, dY, dX);
      break;
    case Pool::kMaxMean:
      pull_back_largest<T>(context.mask, X, dY.leftCols(width_), dX);
      pull_back_mean<T>(context.mask, dY.rightCols(width_), dX);
      break;
    case Pool::kNone:
      copy_tokens<T>(context.mask, dY, dX);
      break;
  }
}

MATAPPROX_INSTANTIATE_LAYER(Pooling);

}  // namespace matapprox::attention
