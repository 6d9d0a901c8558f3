#include "matapprox/attention/multi_head.hpp"

#include "attention/instantiate.hpp"
#include "core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache; children: one a head.
constexpr std::size_t kProjected = 0;
constexpr std::size_t kHeads = 1;

}  // namespace

/// Views of the projections: of all heads, and of one.
template <class T>
struct MultiHead<T>::Parts {
  TokenMap<T> all;  ///< N x (q + q + d), q = d or 0
  Index width;      ///< of all queries
  Index values;     ///< of all values
  Index heads;

  auto query() { return all.leftCols(width); }
  auto key() { return all.middleCols(width, width); }
  auto value() { return all.rightCols(values); }
  auto query(Index h) { return all.middleCols(h * (width / heads), width / heads); }
  auto key(Index h) { return all.middleCols(width + h * (width / heads), width / heads); }
  auto value(Index h) { return all.middleCols(2 * width + h * (values / heads), values / heads); }
};

template <class T>
struct MultiHead<T>::Scored {
  using View = Eigen::Map<TokenMatrix<T>, 0, Eigen::OuterStride<>>;
  View query;
  View key;

  static View of(Tokens<T> X) {
    return {X.data(), X.rows(), X.cols(), Eigen::OuterStride<>(X.outerStride())};
  }
};

template <class T>
MultiHead<T>::MultiHead(ParameterList& list,
                        const std::string& prefix,
                        const AttentionShape& shape,
                        std::unique_ptr<HeadCore<T>> core,
                        const MultiHeadOptions& options)
    : shape_(shape),
      carry_(options.carry_scores),
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
typename MultiHead<T>::Parts MultiHead<T>::project(const Call<T>& call,
                                                   const ConstTokens<T>& X,
                                                   Cache<T>& cache) const {
  shape_.check_sample(X.rows(), X.cols());
  const Index d = shape_.width;
  const Index q = query_ ? d : 0;
  Parts parts{cache.array(kProjected, X.rows(), 2 * q + d), q, d, shape_.heads};
  if (query_) {
    query_->apply(call, X, parts.query());
    key_->apply(call, X, parts.key());
  }
  value_.apply(call, X, parts.value());
  if (carries(call)) slice(call.carried, shape_.layer, X.rows()) = parts.all.leftCols(2 * d);
  return parts;
}

template <class T>
typename MultiHead<T>::Scored MultiHead<T>::scored(const Call<T>& call,
                                                   Parts& parts,
                                                   Index head,
                                                   typename Workspace<T>::Scope& scope) const {
  if (!carries(call)) return {Scored::of(parts.query(head)), Scored::of(parts.key(head))};
  const Index n = parts.all.rows();
  const Index width = (shape_.layer + 1) * shape_.head_width();
  return {Scored::of(scope.take(n, width)), Scored::of(scope.take(n, width))};
}

template <class T>
void MultiHead<T>::gather(const Call<T>& call, Index head, Scored& scored) const {
  if (!carries(call)) return;
  const Index p = shape_.head_width();
  for (Index l = 0; l <= shape_.layer; ++l) {
    const TokenMap<T> all = slice(call.carried, l, scored.query.rows());
    scored.query.middleCols(l * p, p) = all.middleCols(head * p, p);
    scored.key.middleCols(l * p, p) = all.middleCols(shape_.width + head * p, p);
  }
}

template <class T>
void MultiHead<T>::scatter(const Call<T>& call,
                           Index head,
                           const Scored& d_scored,
                           Parts& gradients) const {
  if (!carries(call)) return;
  const Index n = d_scored.query.rows();
  const Index p = shape_.head_width();
  for (Index l = 0; l <= shape_.layer; ++l) {
    TokenMap<T> all = slice(call.carried_gradient, l, n);
    all.middleCols(head * p, p) += d_scored.query.middleCols(l * p, p);
    all.middleCols(shape_.width + head * p, p) += d_scored.key.middleCols(l * p, p);
  }
  // The layers above have left theirs in this layer's slice before.
  const TokenMap<T> own = slice(call.carried_gradient, shape_.layer, n);
  gradients.query(head) = own.middleCols(head * p, p);
  gradients.key(head) = own.middleCols(shape_.width + head * p, p);
}

template <class T>
void MultiHead<T>::forward(const Call<T>& call,
                           const ConstTokens<T>& X,
                           Tokens<T> Y,
                           Cache<T>& cache) const {
  Parts parts = project(call, X, cache);
  TokenMap<T> H = cache.array(kHeads, X.rows(), shape_.width);
  const Index p = shape_.head_width();
  for (Index h = 0; h < shape_.heads; ++h) {
    typename Workspace<T>::Scope scope(*call.workspace);
    Scored qk = scored(call, parts, h, scope);
    gather(call, h, qk);
    core_->forward(call,
                   h,
                   qk.query,
                   qk.key,
                   parts.value(h),
                   H.middleCols(h * p, p),
                   cache.child(static_cast<std::size_t>(h)));
  }
  if (output_) {
    output_->apply(call, H, Y);
  } else {
    Y = H;
  }
}

template <class T>
void MultiHead<T>::backward(const Call<T>& call,
                            const ConstTokens<T>& X,
                            const ConstTokens<T>& dY,
                            Tokens<T> dX,
                            Cache<T>& cache) const {
  const Index d = shape_.width;
  const Index q = query_ ? d : 0;
  const Index n = X.rows();
  typename Workspace<T>::Scope scope(*call.workspace);
  Parts parts{cache.array(kProjected, n, 2 * q + d), q, d, shape_.heads};
  Parts gradients{scope.take(n, 2 * q + d), q, d, shape_.heads};
  const TokenMap<T> H = cache.array(kHeads, n, d);
  TokenMap<T> dH = scope.take(n, d);
  if (output_) {
    output_->pull_back(call, H, dY, dH, false);
  } else {
    dH = dY;
  }
  const Index p = shape_.head_width();
  for (Index h = 0; h < shape_.heads; ++h) {
    typename Workspace<T>::Scope of_head(*call.workspace);
    Scored qk = scored(call, parts, h, of_head);
    Scored d_qk = scored(call, gradients, h, of_head);
    gather(call, h, qk);
    core_->backward(call,
                    h,
                    qk.query,
                    qk.key,
                    parts.value(h),
                    H.middleCols(h * p, p),
                    dH.middleCols(h * p, p),
                    d_qk.query,
                    d_qk.key,
                    gradients.value(h),
                    cache.child(static_cast<std::size_t>(h)));
    scatter(call, h, d_qk, gradients);
  }
  value_.pull_back(call, X, gradients.value(), dX, false);
  if (query_) {
    query_->pull_back(call, X, gradients.query(), dX, true);
    key_->pull_back(call, X, gradients.key(), dX, true);
  }
}

template <class T>
void MultiHead<T>::apply_map(const Call<T>& call,
                             const ConstTokens<T>& X,
                             Index head,
                             const ConstTokens<T>& B,
                             Tokens<T> Y,
                             Cache<T>& cache) const {
  Parts parts = project(call, X, cache);
  typename Workspace<T>::Scope scope(*call.workspace);
  Scored qk = scored(call, parts, head, scope);
  gather(call, head, qk);
  core_->forward(call, head, qk.query, qk.key, B, Y, cache.child(static_cast<std::size_t>(head)));
}

/// H is linear in V: E^T B is what the backward pass says of dV, whatever V is.
template <class T>
void MultiHead<T>::apply_map_transpose(const Call<T>& call,
                                       const ConstTokens<T>& X,
                                       Index head,
                                       const ConstTokens<T>& B,
                                       Tokens<T> Y,
                                       Cache<T>& cache) const {
  const Index n = X.rows();
  typename Workspace<T>::Scope scope(*call.workspace);
  TokenMap<T> zero = scope.take(n, B.cols());
  TokenMap<T> H = scope.take(n, B.cols());
  zero.setZero();
  Parts parts = project(call, X, cache);
  Cache<T>& own = cache.child(static_cast<std::size_t>(head));
  Scored qk = scored(call, parts, head, scope);
  gather(call, head, qk);
  core_->forward(call, head, qk.query, qk.key, zero, H, own);
  TokenMap<T> dQ = scope.take(n, qk.query.cols());
  TokenMap<T> dK = scope.take(n, qk.key.cols());
  core_->backward(call, head, qk.query, qk.key, zero, H, B, dQ, dK, Y, own);
}

template <class T>
AttentionCost MultiHead<T>::cost(Index length) const {
  const Index d = shape_.width;
  const Index projections = (query_ ? 3 : 1) + (output_ ? 1 : 0);
  // The projections and the heads side by side; all heads one after the other.
  AttentionCost cost{projections * length * d * d, ((query_ ? 3 : 1) + 1) * length * d};
  AttentionCost cores;
  for (Index h = 0; h < shape_.heads; ++h) cores += core_->cost(length, shape_.head_width());
  if (carry_) {
    // Half of a core's multiplications are scores, which are (l + 1) times as wide.
    cores.multiplications = cores.multiplications / 2 * (shape_.layer + 2);
    cores.stored += carried(length);
  }
  return cost += cores;
}

MATAPPROX_INSTANTIATE_LAYER(MultiHead);

}  // namespace matapprox::attention
