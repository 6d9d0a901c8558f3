#include <algorithm>

#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {
namespace {

/// Number of tokens processed together, so that the hidden layer stays in the CPU's cache.
constexpr Index kFeedForwardRows = 256;
// Arrays of the cache: the hidden layer after GELU, and GELU's derivative there.
constexpr Index kHidden = 0;
constexpr Index kHiddenSlope = 1;

}  // namespace

template <class T>
FeedForward<T>::FeedForward(
    ParameterList& list, const std::string& name, Index in, Index hidden, Index out)
    : hidden_(list, name + ".hidden", in, hidden), output_(list, name + ".output", hidden, out) {}

template <class T>
void FeedForward<T>::forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  const Index n = X.rows();
  TokenMap<T> hidden = cache.array(kHidden, n, hidden_.out());
  TokenMap<T> slope = cache.array(kHiddenSlope, n, hidden_.out());
  for (Index i = 0; i < n; i += kFeedForwardRows) {
    const Index rows = std::min(kFeedForwardRows, n - i);
    T* own = hidden.row(i).data();
    hidden_.apply(context, X.middleRows(i, rows), hidden.middleRows(i, rows));
    kernels::gelu_with_slope(own, own, slope.row(i).data(), rows * hidden_.out());
    output_.apply(context, hidden.middleRows(i, rows), Y.middleRows(i, rows));
  }
}

template <class T>
void FeedForward<T>::backward(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  const Index n = X.rows();
  const TokenMap<T> hidden = cache.array(kHidden, n, hidden_.out());
  const TokenMap<T> slope = cache.array(kHiddenSlope, n, hidden_.out());
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> d_hidden = scope.take(kFeedForwardRows, hidden_.out());
  for (Index i = 0; i < n; i += kFeedForwardRows) {
    const Index rows = std::min(kFeedForwardRows, n - i);
    output_.pull_back(
        context, hidden.middleRows(i, rows), dY.middleRows(i, rows), d_hidden.topRows(rows), false);
    d_hidden.topRows(rows).array() *= slope.middleRows(i, rows).array();
    hidden_.pull_back(
        context, X.middleRows(i, rows), d_hidden.topRows(rows), dX.middleRows(i, rows), false);
  }
}

MATAPPROX_INSTANTIATE_LAYER(FeedForward);

}  // namespace matapprox::attention
