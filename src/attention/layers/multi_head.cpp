#include "matapprox/attention/layers/multi_head.hpp"

#include <algorithm>

#include "attention/kernels/instantiate.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache. It has one child per head.
constexpr std::size_t kProjected = 0;
constexpr std::size_t kHeads = 1;

/// Number of tokens that are projected at a time: all numbers of such a run stay in a core's cache.
constexpr Index kRows = 256;

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
struct MultiHead<T>::Scored {
  TokenMap<T> query;
  TokenMap<T> key;
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
typename MultiHead<T>::Parts MultiHead<T>::project(const LayerContext<T>& context,
                                                   const ConstTokens<T>& X,
                                                   Cache<T>& cache) const {
  const Index n = X.rows();
  shape_.check_sample(n, X.cols());
  const Parts parts = parts_in(cache.array(kProjected, n, projected_width()));
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < n; i += kRows) {
    const Index rows = std::min(kRows, n - i);
    const auto project_to = [&](const Linear<T>& projection, const Heads& heads) {
      if (heads.count == 1) {
        projection.apply(context, X.middleRows(i, rows), heads[0].middleRows(i, rows));
        return;
      }
      projection.apply(context, X.middleRows(i, rows), run.topRows(rows));
      heads.set(i, run.topRows(rows));
    };
    if (query_) {
      project_to(*query_, parts.query);
      project_to(*key_, parts.key);
    }
    project_to(value_, parts.value);
  }
  if (has_residual_scores(context)) {
    const Parts own = slice(context.residual_scores, shape_.layer, n);
    std::copy_n(parts.query.data, own.query.size() + own.key.size(), own.query.data);
  }
  return parts;
}

template <class T>
typename MultiHead<T>::Heads MultiHead<T>::project_queries(const LayerContext<T>& context,
                                                           const ConstTokens<T>& X,
                                                           Cache<T>& cache) const {
  const Index n = X.rows();
  shape_.check_sample(n, X.cols());
  const Heads Q = heads_in(cache.array(kProjected, n, shape_.width));
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < n; i += kRows) {
    const Index rows = std::min(kRows, n - i);
    if (Q.count == 1) {
      query_->apply(context, X.middleRows(i, rows), Q[0].middleRows(i, rows));
      continue;
    }
    query_->apply(context, X.middleRows(i, rows), run.topRows(rows));
    Q.set(i, run.topRows(rows));
  }
  return Q;
}

template <class T>
void MultiHead<T>::pull_back_queries(const LayerContext<T>& context,
                                     const ConstTokens<T>& X,
                                     const Heads& dQ,
                                     Tokens<T> dX) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < X.rows(); i += kRows) {
    const Index rows = std::min(kRows, X.rows() - i);
    query_->pull_back(context,
                      X.middleRows(i, rows),
                      dQ.rows(i, run.topRows(rows)),
                      dX.middleRows(i, rows),
                      true);
  }
}

template <class T>
typename MultiHead<T>::Scored MultiHead<T>::scored(const LayerContext<T>& context,
                                                   const Parts& parts,
                                                   Index head,
                                                   typename Workspace<T>::Scope& scope) const {
  if (!has_residual_scores(context)) return {parts.query[head], parts.key[head]};
  const Index n = parts.value.length;
  const Index width = (shape_.layer + 1) * shape_.head_width();
  return {scope.take(n, width), scope.take(n, width)};
}

template <class T>
void MultiHead<T>::gather(const LayerContext<T>& context, Index head, Scored& scored) const {
  if (!has_residual_scores(context)) return;
  const Index p = shape_.head_width();
  for (Index l = 0; l <= shape_.layer; ++l) {
    const Parts all = slice(context.residual_scores, l, scored.query.rows());
    scored.query.middleCols(l * p, p) = all.query[head];
    scored.key.middleCols(l * p, p) = all.key[head];
  }
}

template <class T>
void MultiHead<T>::scatter(const LayerContext<T>& context,
                           Index head,
                           const Scored& d_scored,
                           const Parts& gradients) const {
  if (!has_residual_scores(context)) return;
  const Index n = d_scored.query.rows();
  const Index p = shape_.head_width();
  for (Index l = 0; l <= shape_.layer; ++l) {
    const Parts all = slice(context.residual_scores_gradient, l, n);
    all.query[head] += d_scored.query.middleCols(l * p, p);
    all.key[head] += d_scored.key.middleCols(l * p, p);
  }
  // The layers above have already added their gradients to this layer's slice.
  const Parts own = slice(context.residual_scores_gradient, shape_.layer, n);
  gradients.query[head] = own.query[head];
  gradients.key[head] = own.key[head];
}

template <class T>
void MultiHead<T>::forward_cores(const LayerContext<T>& context,
                                 const Parts& parts,
                                 const Heads& H,
                                 Cache<T>& cache) const {
  if (!has_residual_scores(context))
    return core_->forward_heads(context, parts.query, parts.key, parts.value, H, cache);
  for (Index h = 0; h < shape_.heads; ++h) {
    typename Workspace<T>::Scope scope(*context.workspace);
    Scored qk = scored(context, parts, h, scope);
    gather(context, h, qk);
    core_->forward(context,
                   h,
                   qk.query,
                   qk.key,
                   parts.value[h],
                   H[h],
                   cache.child(static_cast<std::size_t>(h)));
  }
}

template <class T>
void MultiHead<T>::forward(const LayerContext<T>& context,
                           const ConstTokens<T>& X,
                           Tokens<T> Y,
                           Cache<T>& cache) const {
  const Heads H = heads_in(cache.array(kHeads, X.rows(), shape_.width));
  if (core_->mixes_tokens()) {
    const Heads Q = project_queries(context, X, cache);
    core_->forward_tokens(context, X, *key_, value_, Q, H, cache);
  } else {
    forward_cores(context, project(context, X, cache), H, cache);
  }
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < X.rows(); i += kRows) {
    const Index rows = std::min(kRows, X.rows() - i);
    const ConstTokens<T> side_by_side = H.rows(i, run.topRows(rows));
    if (output_) {
      output_->apply(context, side_by_side, Y.middleRows(i, rows));
    } else {
      Y.middleRows(i, rows) = side_by_side;
    }
  }
}

/// Computes dH from dY, and the gradient of the output projection.
template <class T>
void MultiHead<T>::pull_back_output(const LayerContext<T>& context,
                                    const ConstTokens<T>& dY,
                                    const Heads& H,
                                    const Heads& dH) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  TokenMap<T> d_run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < dY.rows(); i += kRows) {
    const Index rows = std::min(kRows, dY.rows() - i);
    if (!output_) {
      dH.set(i, dY.middleRows(i, rows));
      continue;
    }
    const ConstTokens<T> side_by_side = H.rows(i, run.topRows(rows));
    if (dH.count == 1) {
      output_->pull_back(
          context, side_by_side, dY.middleRows(i, rows), dH[0].middleRows(i, rows), false);
      continue;
    }
    output_->pull_back(context, side_by_side, dY.middleRows(i, rows), d_run.topRows(rows), false);
    dH.set(i, d_run.topRows(rows));
  }
}

/// Computes dX from the gradients of queries, keys and values, and the gradients of their
/// projections.
template <class T>
void MultiHead<T>::pull_back_projections(const LayerContext<T>& context,
                                         const ConstTokens<T>& X,
                                         const Parts& gradients,
                                         Tokens<T> dX) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> run = scope.take(kRows, shape_.width);
  for (Index i = 0; i < X.rows(); i += kRows) {
    const Index rows = std::min(kRows, X.rows() - i);
    const auto pull_back = [&](const Linear<T>& projection, const Heads& heads, bool add) {
      projection.pull_back(context,
                           X.middleRows(i, rows),
                           heads.rows(i, run.topRows(rows)),
                           dX.middleRows(i, rows),
                           add);
    };
    pull_back(value_, gradients.value, false);
    if (query_) {
      pull_back(*query_, gradients.query, true);
      pull_back(*key_, gradients.key, true);
    }
  }
}

template <class T>
void MultiHead<T>::backward(const LayerContext<T>& context,
                            const ConstTokens<T>& X,
                            const ConstTokens<T>& dY,
                            Tokens<T> dX,
                            Cache<T>& cache) const {
  const Index n = X.rows();
  typename Workspace<T>::Scope scope(*context.workspace);
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
  const Parts gradients = parts_in(scope.take(n, projected_width()));
  if (!has_residual_scores(context)) {
    core_->backward_heads(context,
                          parts.query,
                          parts.key,
                          parts.value,
                          H,
                          dH,
                          gradients.query,
                          gradients.key,
                          gradients.value,
                          cache);
  }
  for (Index h = 0; has_residual_scores(context) && h < shape_.heads; ++h) {
    typename Workspace<T>::Scope of_head(*context.workspace);
    Scored qk = scored(context, parts, h, of_head);
    Scored d_qk = scored(context, gradients, h, of_head);
    gather(context, h, qk);
    core_->backward(context,
                    h,
                    qk.query,
                    qk.key,
                    parts.value[h],
                    H[h],
                    dH[h],
                    d_qk.query,
                    d_qk.key,
                    gradients.value[h],
                    cache.child(static_cast<std::size_t>(h)));
    scatter(context, h, d_qk, gradients);
  }
  pull_back_projections(context, X, gradients, dX);
}

template <class T>
void MultiHead<T>::apply_map(const LayerContext<T>& context,
                             const ConstTokens<T>& X,
                             Index head,
                             const ConstTokens<T>& B,
                             Tokens<T> Y,
                             Cache<T>& cache) const {
  const Parts parts = project(context, X, cache);
  typename Workspace<T>::Scope scope(*context.workspace);
  Scored qk = scored(context, parts, head, scope);
  gather(context, head, qk);
  core_->forward(
      context, head, qk.query, qk.key, B, Y, cache.child(static_cast<std::size_t>(head)));
}

/// H is linear in V, so E^T B is the dV of a backward pass with dH = B, for any V.
template <class T>
void MultiHead<T>::apply_map_transpose(const LayerContext<T>& context,
                                       const ConstTokens<T>& X,
                                       Index head,
                                       const ConstTokens<T>& B,
                                       Tokens<T> Y,
                                       Cache<T>& cache) const {
  const Index n = X.rows();
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> zero = scope.take(n, B.cols());
  TokenMap<T> H = scope.take(n, B.cols());
  zero.setZero();
  const Parts parts = project(context, X, cache);
  Cache<T>& own = cache.child(static_cast<std::size_t>(head));
  Scored qk = scored(context, parts, head, scope);
  gather(context, head, qk);
  core_->forward(context, head, qk.query, qk.key, zero, H, own);
  TokenMap<T> dQ = scope.take(n, qk.query.cols());
  TokenMap<T> dK = scope.take(n, qk.key.cols());
  core_->backward(context, head, qk.query, qk.key, zero, H, B, dQ, dK, Y, own);
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
