#include "matapprox/attention/layers/multi_head.hpp"

#include <algorithm>

#include "attention/kernels/instantiate.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache. It has one child per head.
constexpr Index kProjected = 0;
constexpr Index kHeads = 1;

/// Number of tokens that are projected at a time: all numbers of such a run stay in a core's cache.
constexpr Index kRows = 256;

/// Calls function(i, rows) for one run of rows after the other.
template <class Function>
void for_each_run(Index length, const Function& function) {
  for (Index i = 0; i < length; i += kRows) function(i, std::min(kRows, length - i));
}

/// Writes a projection of the run X to rows i, i + 1, ... of the heads. `copy` is memory for it.
template <class T>
void project_run(Context<T> context,
                 const Linear<T>& projection,
                 In<T> X,
                 Index i,
                 const HeadArrays<T>& heads,
                 Out<T> copy) {
  if (heads.count == 1) {
    projection.apply(context, X, heads[0].middleRows(i, X.rows()));
    return;
  }
  projection.apply(context, X, copy);
  heads.set(i, copy);
}

}  // namespace

/// The projections: queries and keys (empty if there are none), and values.
template <class T>
struct MultiHead<T>::Parts {
  Heads query;
  Heads key;
  Heads value;

  Parts(T* data, bool queries, const AttentionShape& shape, Index n)
      : query{data, n, queries ? shape.head_width() : 0, shape.heads},
        key(query.next()),
        value{key.next().data, n, shape.head_width(), shape.heads} {}
};

template <class T>
MultiHead<T>::MultiHead(ParameterList& list,
                        const std::string& prefix,
                        const AttentionShape& shape,
                        std::unique_ptr<HeadCore<T>> core,
                        const MultiHeadOptions& options)
    : shape_(shape),
      residual_scores_(options.residual_scores),
      value_(list, prefix + ".value", shape.width, shape.width),
      core_(std::move(core)) {
  const auto projection = [&](const char* name) {
    return std::make_unique<Linear<T>>(list, prefix + name, shape.width, shape.width);
  };
  if (options.queries) {
    query_ = projection(".query");
    key_ = projection(".key");
  }
  if (options.output_projection) output_ = projection(".output");
}

template <class T>
typename MultiHead<T>::Parts MultiHead<T>::parts_in(TokenMap<T> numbers) const {
  return {numbers.data(), query_ != nullptr, shape_, numbers.rows()};
}

template <class T>
typename MultiHead<T>::Heads MultiHead<T>::heads_in(TokenMap<T> numbers) const {
  return {numbers.data(), numbers.rows(), shape_.head_width(), shape_.heads};
}

template <class T>
typename MultiHead<T>::Parts MultiHead<T>::project(Context<T> context,
                                                   In<T> X,
                                                   Cache<T>& cache) const {
  const Index n = X.rows();
  shape_.check_sample(n, X.cols());
  const Parts parts = parts_in(cache.array(kProjected, n, projected_width()));
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  for_each_run(n, [&](Index i, Index rows) {
    const ConstTokens<T> run = X.middleRows(i, rows);
    if (query_) {
      project_run<T>(context, *query_, run, i, parts.query, copy.topRows(rows));
      project_run<T>(context, *key_, run, i, parts.key, copy.topRows(rows));
    }
    project_run<T>(context, value_, run, i, parts.value, copy.topRows(rows));
  });
  if (has_residual_scores(context)) {
    const Parts own = slice(context.residual_scores, shape_.layer, n);
    std::copy_n(parts.query.data, own.query.size() + own.key.size(), own.query.data);
  }
  return parts;
}

template <class T>
typename MultiHead<T>::Heads MultiHead<T>::project_queries(Context<T> context,
                                                           In<T> X,
                                                           Cache<T>& cache) const {
  const Index n = X.rows();
  shape_.check_sample(n, X.cols());
  const Heads Q = heads_in(cache.array(kProjected, n, shape_.width));
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  for_each_run(n, [&](Index i, Index rows) {
    project_run<T>(context, *query_, X.middleRows(i, rows), i, Q, copy.topRows(rows));
  });
  return Q;
}

template <class T>
void MultiHead<T>::pull_back_queries(Context<T> context,
                                     In<T> X,
                                     const Heads& dQ,
                                     Out<T> dX) const {
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  for_each_run(X.rows(), [&](Index i, Index rows) {
    const ConstTokens<T> d_run = dQ.rows(i, copy.topRows(rows));
    query_->pull_back(context, X.middleRows(i, rows), d_run, dX.middleRows(i, rows), true);
  });
}

template <class T>
HeadInputs<T> MultiHead<T>::inputs(
    Context<T> context, const Parts& parts, Index head, In<T> V, Scope& scope) const {
  if (!has_residual_scores(context)) return {parts.query[head], parts.key[head], V, head};
  const Index n = parts.value.length;
  const Index p = shape_.head_width();
  TokenMap<T> Q = scope.take(n, (shape_.layer + 1) * p);
  TokenMap<T> K = scope.take(n, (shape_.layer + 1) * p);
  for (Index l = 0; l <= shape_.layer; ++l) {
    const Parts all = slice(context.residual_scores, l, n);
    Q.middleCols(l * p, p) = all.query[head];
    K.middleCols(l * p, p) = all.key[head];
  }
  return {Q, K, V, head};
}

template <class T>
HeadGradients<T> MultiHead<T>::gradients(Context<T> context,
                                         const Parts& parts,
                                         Index head,
                                         Scope& scope) const {
  TokenMap<T> dV = parts.value[head];
  if (!has_residual_scores(context)) return {parts.query[head], parts.key[head], dV};
  const Index width = (shape_.layer + 1) * shape_.head_width();
  return {scope.take(dV.rows(), width), scope.take(dV.rows(), width), dV};
}

template <class T>
void MultiHead<T>::distribute(Context<T> context,
                              Index head,
                              const HeadGradients<T>& d,
                              const Parts& gradients) const {
  if (!has_residual_scores(context)) return;
  const Index n = d.Q.rows();
  const Index p = shape_.head_width();
  for (Index l = 0; l <= shape_.layer; ++l) {
    const Parts all = slice(context.residual_scores_gradient, l, n);
    all.query[head] += d.Q.middleCols(l * p, p);
    all.key[head] += d.K.middleCols(l * p, p);
  }
  // The layers above have already added their gradients to this layer's slice.
  const Parts own = slice(context.residual_scores_gradient, shape_.layer, n);
  gradients.query[head] = own.query[head];
  gradients.key[head] = own.key[head];
}

template <class T>
void MultiHead<T>::forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  const Heads H = heads_in(cache.array(kHeads, X.rows(), shape_.width));
  if (core_->mixes_tokens()) {
    const Heads Q = project_queries(context, X, cache);
    core_->forward_tokens(context, X, *key_, value_, Q, H, cache);
  } else {
    const Parts parts = project(context, X, cache);
    for (Index h = 0; h < shape_.heads; ++h) {
      Scope scope(*context.workspace);
      core_->forward(
          context, inputs(context, parts, h, parts.value[h], scope), H[h], cache.child(h));
    }
  }
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  for_each_run(X.rows(), [&](Index i, Index rows) {
    const ConstTokens<T> side_by_side = H.rows(i, copy.topRows(rows));
    if (output_) {
      output_->apply(context, side_by_side, Y.middleRows(i, rows));
    } else {
      Y.middleRows(i, rows) = side_by_side;
    }
  });
}

/// Computes dH from dY, and the gradient of the output projection.
template <class T>
void MultiHead<T>::pull_back_output(Context<T> context,
                                    In<T> dY,
                                    const Heads& H,
                                    const Heads& dH) const {
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  TokenMap<T> d_copy = scope.take(kRows, shape_.width);
  for_each_run(dY.rows(), [&](Index i, Index rows) {
    const ConstTokens<T> d_run = dY.middleRows(i, rows);
    if (!output_) {
      dH.set(i, d_run);
      return;
    }
    const ConstTokens<T> side_by_side = H.rows(i, copy.topRows(rows));
    if (dH.count == 1) {
      output_->pull_back(context, side_by_side, d_run, dH[0].middleRows(i, rows), false);
      return;
    }
    output_->pull_back(context, side_by_side, d_run, d_copy.topRows(rows), false);
    dH.set(i, d_copy.topRows(rows));
  });
}

/// Computes dX from the gradients of queries, keys and values, and the gradients of their
/// projections.
template <class T>
void MultiHead<T>::pull_back_projections(Context<T> context,
                                         In<T> X,
                                         const Parts& gradients,
                                         Out<T> dX) const {
  Scope scope(*context.workspace);
  TokenMap<T> copy = scope.take(kRows, shape_.width);
  for_each_run(X.rows(), [&](Index i, Index rows) {
    const auto pull_back = [&](const Linear<T>& projection, const Heads& heads, bool add) {
      const ConstTokens<T> d_run = heads.rows(i, copy.topRows(rows));
      projection.pull_back(context, X.middleRows(i, rows), d_run, dX.middleRows(i, rows), add);
    };
    pull_back(value_, gradients.value, false);
    if (query_) {
      pull_back(*query_, gradients.query, true);
      pull_back(*key_, gradients.key, true);
    }
  });
}

template <class T>
void MultiHead<T>::backward(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  const Index n = X.rows();
  Scope scope(*context.workspace);
  const Heads H = heads_in(cache.array(kHeads, n, shape_.width));
  const Heads dH = heads_in(scope.take(n, shape_.width));
  pull_back_output(context, dY, H, dH);
  if (core_->mixes_tokens()) {
    const Heads Q = heads_in(cache.array(kProjected, n, shape_.width));
    const Heads dQ = heads_in(scope.take(n, shape_.width));
    core_->backward_tokens(context, X, *key_, value_, Q, H, dH, dQ, dX, cache);
    return pull_back_queries(context, X, dQ, dX);
  }
  const Parts parts = parts_in(cache.array(kProjected, n, projected_width()));
  const Parts d_parts = parts_in(scope.take(n, projected_width()));
  for (Index h = 0; h < shape_.heads; ++h) {
    Scope of_head(*context.workspace);
    const HeadInputs<T> in = inputs(context, parts, h, parts.value[h], of_head);
    const HeadGradients<T> d = gradients(context, d_parts, h, of_head);
    core_->backward(context, in, H[h], dH[h], d, cache.child(h));
    distribute(context, h, d, d_parts);
  }
  pull_back_projections(context, X, d_parts, dX);
}

template <class T>
void MultiHead<T>::apply_map(
    Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const {
  const Parts parts = project(context, X, cache);
  Scope scope(*context.workspace);
  core_->forward(context, inputs(context, parts, head, B, scope), Y, cache.child(head));
}

/// H is linear in V, so E^T B is the dV of a backward pass with dH = B, for any V.
template <class T>
void MultiHead<T>::apply_map_transpose(
    Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const {
  const Index n = X.rows();
  Scope scope(*context.workspace);
  TokenMap<T> zero = scope.take(n, B.cols());
  TokenMap<T> H = scope.take(n, B.cols());
  zero.setZero();
  const Parts parts = project(context, X, cache);
  Cache<T>& own = cache.child(head);
  const HeadInputs<T> in = inputs(context, parts, head, zero, scope);
  core_->forward(context, in, H, own);
  const HeadGradients<T> d{scope.take(n, in.Q.cols()), scope.take(n, in.K.cols()), Y};
  core_->backward(context, in, H, B, d, own);
}

template <class T>
AttentionCost MultiHead<T>::cost(Index length) const {
  const Index d = shape_.width;
  if (core_->mixes_tokens()) {
    // Stored numbers: the queries and the heads side by side.
    AttentionCost cost{(output_ ? 2 : 1) * length * d * d, 2 * length * d};
    return cost += core_->tokens_cost(length, d, shape_.heads);
  }
  const Index projections = (query_ ? 3 : 1) + (output_ ? 1 : 0);
  // Stored numbers: the projections and the heads side by side. The costs of the cores add up over
  // the heads.
  AttentionCost cost{projections * length * d * d, ((query_ ? 3 : 1) + 1) * length * d};
  AttentionCost cores;
  for (Index h = 0; h < shape_.heads; ++h) cores += core_->cost(length, shape_.head_width());
  if (residual_scores_) {
    // Half of a core's multiplications compute scores, whose queries and keys are (l + 1) times as
    // wide.
    cores.multiplications = cores.multiplications / 2 * (shape_.layer + 2);
    cores.stored += residual_score_count(length);
  }
  return cost += cores;
}

MATAPPROX_INSTANTIATE_LAYER(MultiHead);

}  // namespace matapprox::attention
