#include <cmath>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {

LinearStart LinearStart::fan_in(Index in) {
  const Initial distribution = Initial::uniform(1 / std::sqrt(static_cast<double>(in)));
  return {distribution, distribution};
}

LinearStart LinearStart::narrow() {
  return {Initial::truncated_normal(0.02), Initial::constant(0)};
}

template <class T>
Linear<T>::Linear(ParameterList& list,
                  const std::string& name,
                  Index in,
                  Index out,
                  const LinearStart& start,
                  bool bias)
    : weight_(list.add(name + ".weight", in, out, start.weight)), has_bias_(bias) {
  if (bias) bias_ = list.add(name + ".bias", 1, out, start.bias);
}

template <class T>
void Linear<T>::apply(Context<T> context, In<T> X, Out<T> Y) const {
  multiply<T>(X, context.value(weight_), Y);
  if (!has_bias_) return;
  const T* bias = context.value(bias_).data();
  kernels::add_to_rows(bias, Y.data(), Y.rows(), Y.cols(), Y.outerStride());
}

template <class T>
void Linear<T>::pull_back(Context<T> context, In<T> X, In<T> dY, Out<T> dX, bool add) const {
  multiply_transposed<T>(X, dY, context.gradient_of(weight_), 1, true);
  if (has_bias_) {
    T* d_bias = context.gradient_of(bias_).data();
    kernels::sum_rows(dY.data(), dY.rows(), dY.cols(), dY.outerStride(), d_bias);
  }
  multiply_by_transpose<T>(dY, context.value(weight_), dX, 1, add);
}

template <class T>
void Linear<T>::apply_to_mixtures(Context<T> context, In<T> X, In<T> sums, Out<T> Y) const {
  multiply<T>(X, context.value(weight_), Y);
  if (has_bias_) Y.noalias() += sums.col(0) * context.value(bias_).row(0);
}

template <class T>
void Linear<T>::pull_back_mixtures(
    Context<T> context, In<T> X, In<T> sums, In<T> dY, Out<T> dX, Out<T> d_sums) const {
  multiply_transposed<T>(X, dY, context.gradient_of(weight_), 1, true);
  multiply_by_transpose<T>(dY, context.value(weight_), dX);
  d_sums.setZero();
  if (!has_bias_) return;
  context.gradient_of(bias_).row(0).noalias() += sums.col(0).transpose() * dY;
  d_sums.col(0).noalias() = dY * context.value(bias_).row(0).transpose();
}

template <class T>
void Linear<T>::forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& /*cache*/) const {
  apply(context, X, Y);
}

template <class T>
void Linear<T>::backward(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& /*cache*/) const {
  pull_back(context, X, dY, dX, false);
}

MATAPPROX_INSTANTIATE_LAYER(Linear);

}  // namespace matapprox::attention
