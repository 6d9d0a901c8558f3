#include "matapprox/attention/feed_forward.hpp"

#include <algorithm>

#include "attention/elementwise.hpp"
#include "attention/instantiate.hpp"

namespace matapprox::attention {
namespace {

/// Tokens worked out together, so that their hidden layer stays in the cache of the processor.
constexpr Index kFeedForwardRows = 256;

}  // namespace

template <class T>
FeedForward<T>::FeedForward(
    ParameterList& list, const std::string& name, Index in, Index hidden, Index out)
    : hidden_(list, name + ".hidden", in, hidden), output_(list, name + ".output", hidden, out) {}

template <class T>
void FeedForward<T>::forward(const Call<T>& call,
                             const ConstTokens<T>& X,
                             Tokens<T> Y,
                             Cache<T>& cache) const {
  const Index n = X.rows();
  TokenMap<T> before = cache.array(0, n, hidden_.out());
  typename Workspace<T>::Scope scope(*call.workspace);
  TokenMap<T> after = scope.take(kFeedForwardRows, hidden_.out());
  for (Index i = 0; i < n; i += kFeedForwardRows) {
    const Index rows = std::min(kFeedForwardRows, n - i);
    hidden_.apply(call, X.middleRows(i, rows), before.middleRows(i, rows));
    gelu(before.row(i).data(), after.data(), rows * hidden_.out());
    output_.apply(call, after.topRows(rows), Y.middleRows(i, rows));
  }
}

template <class T>
void FeedForward<T>::backward(const Call<T>& call,
                              const ConstTokens<T>& X,
                              const ConstTokens<T>& dY,
                              Tokens<T> dX,
                              Cache<T>& cache) const {
  const Index n = X.rows();
  const TokenMap<T> before = cache.array(0, n, hidden_.out());
  typename Workspace<T>::Scope scope(*call.workspace);
  TokenMap<T> after = scope.take(kFeedForwardRows, hidden_.out());
  TokenMap<T> d_after = scope.take(kFeedForwardRows, hidden_.out());
  for (Index i = 0; i < n; i += kFeedForwardRows) {
    const Index rows = std::min(kFeedForwardRows, n - i);
    const Index count = rows * hidden_.out();
    gelu(before.row(i).data(), after.data(), count);
    output_.pull_back(
        call, after.topRows(rows), dY.middleRows(i, rows), d_after.topRows(rows), false);
    gelu_backward(before.row(i).data(), d_after.data(), d_after.data(), count);
    hidden_.pull_back(
        call, X.middleRows(i, rows), d_after.topRows(rows), dX.middleRows(i, rows), false);
  }
}

MATAPPROX_INSTANTIATE_LAYER(FeedForward);

}  // namespace matapprox::attention
