#include <algorithm>
#include <cmath>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/mechanisms/sinusoidal_encoding.hpp"
#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

/// Returns the features as tokens of the layers' scalar type T.
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
  v.visit_enum("positions", positions, "position vectors added to the tokens");
  v.visit("position_scale", position_scale, "factor of sinusoidal positions");
  v.visit("embedding_init_std", init_std, "initial standard deviation of the token vectors");
  v.visit("embedding_norm", norm, "layer norm after the embedding (BERT)");
  v.visit("cls_token", cls_token, "put a learned token in front of the sequence, for pool cls");
  v.visit("segments",
          segments,
          "number of segment vectors, one of which is added to each token; 0: none; BERT: 2");
  v.visit("segment_separator",
          segment_separator,
          "id of the token that ends a segment; -1: one segment");
}

template <class T>
Embedding<T>::Embedding(ParameterList& list,
                        const std::string& prefix,
                        Index width,
                        Index length,
                        Index vocabulary,
                        Index features,
                        const EmbeddingOptions& options)
    : length_(length),
      vocabulary_(vocabulary),
      features_(features),
      first_(options.cls_token ? 1 : 0),
      segment_separator_(options.segment_separator) {
  require((vocabulary > 0) != (features > 0),
          "embedding: either a vocabulary or features, not {} and {}",
          vocabulary,
          features);
  require(options.init_std >= 0 && std::isfinite(options.init_std),
          "embedding: init_std {} is not a number of at least 0",
          options.init_std);
  require(std::isfinite(options.position_scale),
          "embedding: position_scale {} is not finite",
          options.position_scale);
  check_width("embedding", "segments", options.segments, 0);
  require(segment_separator_ >= -1 && segment_separator_ < std::max<Index>(vocabulary, 0),
          "embedding: segment_separator {} is outside -1..{}",
          segment_separator_,
          std::max<Index>(vocabulary, 0) - 1);
  require(segment_separator_ == -1 || options.segments > 1,
          "embedding: a segment_separator is for at least 2 segments, not {}",
          options.segments);
  if (vocabulary > 0) {
    token_ = list.add(prefix + ".token", vocabulary, width, Initial::normal(options.init_std));
  } else {
    feature_ = std::make_unique<Linear<T>>(list, prefix + ".feature", features, width);
  }
  if (options.positions == Positions::kLearned) {
    position_ = list.add(prefix + ".position", length + first_, width, Initial::normal(1));
    has_position_ = true;
  } else if (options.positions == Positions::kSinusoidal) {
    position_encoding_ = sinusoidal_encoding(length + first_, width, options.position_scale);
  }
  if (options.cls_token)
    cls_ = list.add(prefix + ".cls", 1, width, Initial::normal(options.init_std));
  if (options.segments > 0) {
    segment_ =
        list.add(prefix + ".segment", options.segments, width, Initial::normal(options.init_std));
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
  require(
      n >= 1 && n <= length_, "model: a sample of {} tokens; the model takes 1..{}", n, length_);
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
  return n + first_;
}

template <class T>
template <class Function>
void Embedding<T>::for_each_segment(const Sequence& sequence,
                                    Index rows,
                                    const Function& function) const {
  Index segment = 0;
  for (Index i = 0; i < rows; ++i) {
    function(i, segment);
    if (segment_separator_ < 0 || i < first_ || segment + 1 == segment_.rows) continue;
    if (sequence.tokens[static_cast<std::size_t>(i - first_)] == segment_separator_) ++segment;
  }
}

template <class T>
void Embedding<T>::forward(Context<T> context, const Sequence& sequence, Out<T> X) const {
  if (feature_) {
    typename Workspace<T>::Scope scope(*context.workspace);
    feature_->apply(
        context, features_of<T>(sequence, features_, scope), X.bottomRows(X.rows() - first_));
  } else {
    const ConstTokenMap<T> table = context.value(token_);
    for (Index i = first_; i < X.rows(); ++i)
      X.row(i) = table.row(sequence.tokens[static_cast<std::size_t>(i - first_)]);
  }
  if (first_ == 1) X.row(0) = context.value(cls_).row(0);
  if (has_position_) X += context.value(position_).topRows(X.rows());
  if (position_encoding_.size() > 0) X += position_encoding_.topRows(X.rows()).template cast<T>();
  if (segment_.rows > 0) {
    const ConstTokenMap<T> table = context.value(segment_);
    for_each_segment(
        sequence, X.rows(), [&](Index i, Index segment) { X.row(i) += table.row(segment); });
  }
  clear_padding<T>(context.mask, X);
}

template <class T>
void Embedding<T>::backward(Context<T> context, const Sequence& sequence, In<T> dX) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> G = scope.take(dX.rows(), dX.cols());
  copy_tokens<T>(context.mask, dX, G);
  if (has_position_) context.gradient_of(position_).topRows(G.rows()) += G;
  if (segment_.rows > 0) {
    TokenMap<T> d_segment = context.gradient_of(segment_);
    for_each_segment(
        sequence, G.rows(), [&](Index i, Index segment) { d_segment.row(segment) += G.row(i); });
  }
  if (first_ == 1) context.gradient_of(cls_).row(0) += G.row(0);
  if (feature_) {
    const TokenMap<T> features = features_of<T>(sequence, features_, scope);
    TokenMap<T> unused = scope.take(features.rows(), features_);
    feature_->pull_back(context, features, G.bottomRows(G.rows() - first_), unused, false);
    return;
  }
  TokenMap<T> d_table = context.gradient_of(token_);
  for (Index i = first_; i < G.rows(); ++i)
    d_table.row(sequence.tokens[static_cast<std::size_t>(i - first_)]) += G.row(i);
}

MATAPPROX_INSTANTIATE_LAYER(Embedding);

}  // namespace matapprox::attention
