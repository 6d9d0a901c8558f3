#include "matapprox/attention/embedding.hpp"

#include <algorithm>
#include <cmath>

#include "attention/bilinear.hpp"
#include "attention/instantiate.hpp"
#include "attention/sinusoidal_encoding.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

/// The features as tokens of the scalar that the layers work in.
template <class T>
TokenMap<T> features_of(const Sequence& sequence,
                        Index columns,
                        typename Workspace<T>::Scope& scope) {
  const auto rows = static_cast<Index>(sequence.features.size()) / columns;
  TokenMap<T> X = scope.take(rows, columns);
  std::transform(sequence.features.begin(), sequence.features.end(), X.data(), [](float x) {
    return static_cast<T>(x);
  });
  return X;
}

}  // namespace

void EmbeddingOptions::visit(OptionVisitor& v) {
  v.visit_enum("positions", positions, "vectors added to the tokens for their positions");
  v.visit("position_scale", position_scale, "factor of sinusoidal positions");
  v.visit("embedding_init_std", init_std, "standard deviation of token vectors at the start");
}

template <class T>
Embedding<T>::Embedding(ParameterList& list,
                        const std::string& prefix,
                        Index width,
                        Index length,
                        Index vocabulary,
                        Index features,
                        const EmbeddingOptions& options)
    : length_(length), vocabulary_(vocabulary), features_(features) {
  require((vocabulary > 0) != (features > 0),
          "embedding: either a vocabulary or features, not {} and {}",
          vocabulary,
          features);
  require(options.init_std >= 0 && std::isfinite(options.init_std),
          "embedding: init_std {} is not a number from 0 on",
          options.init_std);
  require(std::isfinite(options.position_scale),
          "embedding: position_scale {} is not finite",
          options.position_scale);
  if (vocabulary > 0) {
    token_ = list.add(prefix + ".token", vocabulary, width, Initial::normal(options.init_std));
  } else {
    feature_ = std::make_unique<Linear<T>>(list, prefix + ".feature", features, width);
  }
  if (options.positions == Positions::kLearned) {
    position_ = list.add(prefix + ".position", length, width, Initial::normal(1));
    has_position_ = true;
  } else if (options.positions == Positions::kSinusoidal) {
    position_encoding_ = sinusoidal_encoding(length, width, options.position_scale);
  }
}

template <class T>
Index Embedding<T>::check(const Sequence& sequence, Mask mask) const {
  const auto tokens = static_cast<Index>(sequence.tokens.size());
  const auto numbers = static_cast<Index>(sequence.features.size());
  if (vocabulary_ > 0) {
    require(numbers == 0, "model: a sample has {} features; this model takes tokens", numbers);
  } else {
    require(tokens == 0 && numbers % features_ == 0,
            "model: a sample has {} tokens and {} features; this model takes {} features a token",
            tokens,
            numbers,
            features_);
  }
  const Index n = vocabulary_ > 0 ? tokens : numbers / features_;
  require(n >= 1 && n <= length_, "model: a sample of {} tokens, it takes 1..{}", n, length_);
  require(mask.empty() || static_cast<Index>(mask.size()) == n,
          "model: a mask of {} for {} tokens",
          mask.size(),
          n);
  for (const std::int32_t token : sequence.tokens) {
    require(token >= 0 && token < vocabulary_,
            "model: token {} is outside 0..{}",
            token,
            vocabulary_ - 1);
  }
  return n;
}

template <class T>
void Embedding<T>::forward(const LayerContext<T>& context,
                           const Sequence& sequence,
                           Tokens<T> X) const {
  if (feature_) {
    typename Workspace<T>::Scope scope(*context.workspace);
    feature_->apply(context, features_of<T>(sequence, features_, scope), X);
  } else {
    const ConstTokenMap<T> table = context.value(token_);
    for (Index i = 0; i < X.rows(); ++i)
      X.row(i) = table.row(sequence.tokens[static_cast<std::size_t>(i)]);
  }
  if (has_position_) X += context.value(position_).topRows(X.rows());
  if (position_encoding_.size() > 0) X += position_encoding_.topRows(X.rows()).template cast<T>();
  clear_padding<T>(context.mask, X);
}

template <class T>
void Embedding<T>::backward(const LayerContext<T>& context,
                            const Sequence& sequence,
                            const ConstTokens<T>& dX) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> G = scope.take(dX.rows(), dX.cols());
  copy_tokens<T>(context.mask, dX, G);
  if (has_position_) context.gradient_of(position_).topRows(G.rows()) += G;
  if (feature_) {
    const TokenMap<T> features = features_of<T>(sequence, features_, scope);
    TokenMap<T> unused = scope.take(features.rows(), features_);
    feature_->pull_back(context, features, G, unused, false);
    return;
  }
  TokenMap<T> d_table = context.gradient_of(token_);
  for (Index i = 0; i < G.rows(); ++i)
    d_table.row(sequence.tokens[static_cast<std::size_t>(i)]) += G.row(i);
}

MATAPPROX_INSTANTIATE_LAYER(Embedding);

}  // namespace matapprox::attention
