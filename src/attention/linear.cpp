#include "matapprox/attention/linear.hpp"

#include <cmath>

#include "attention/instantiate.hpp"
#include "attention/products.hpp"

namespace matapprox::attention {

LinearStart LinearStart::fan_in(Index in) {
  const Initial law = Initial::uniform(1 / std::sqrt(static_cast<double>(in)));
  return {law, law};
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
void Linear<T>::apply(const Call<T>& call, const ConstTokens<T>& X, Tokens<T> Y) const {
  multiply<T>(X, call.value(weight_), Y);
  if (has_bias_) Y.rowwise() += call.value(bias_).row(0);
}

template <class T>
void Linear<T>::pull_back(const Call<T>& call,
                          const ConstTokens<T>& X,
                          const ConstTokens<T>& dY,
                          Tokens<T> dX,
                          bool add) const {
  multiply_transposed<T>(X, dY, call.gradient_of(weight_), 1, true);
  if (has_bias_) {
    TokenMap<T> db = call.gradient_of(bias_);
    for (Index i = 0; i < dY.rows(); ++i) db.row(0) += dY.row(i);
  }
  multiply_by_transpose<T>(dY, call.value(weight_), dX, 1, add);
}

template <class T>
void Linear<T>::forward(const Call<T>& call,
                        const ConstTokens<T>& X,
                        Tokens<T> Y,
                        Cache<T>& /*cache*/) const {
  apply(call, X, Y);
}

template <class T>
void Linear<T>::backward(const Call<T>& call,
                         const ConstTokens<T>& X,
                         const ConstTokens<T>& dY,
                         Tokens<T> dX,
                         Cache<T>& /*cache*/) const {
  pull_back(call, X, dY, dX, false);
}

MATAPPROX_INSTANTIATE_LAYER(Linear);

}  // namespace matapprox::attention
