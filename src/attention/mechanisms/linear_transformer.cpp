#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/mechanisms/feature_attention.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache.
enum LinearArray : std::size_t { kQueryFeatures, kKeyFeatures, kOneAndValues, kRowSums };

/// phi(x) = elu(x) + 1: x + 1 for x > 0, else exp(x).
template <class T>
void elu_features(const ConstTokens<T>& X, Tokens<T> F) {
  for (Index i = 0; i < X.rows(); ++i) {
    kernels::exp(X.row(i).data(), F.row(i).data(), X.cols());
    for (Index j = 0; j < X.cols(); ++j) {
      if (X(i, j) > T(0)) F(i, j) = X(i, j) + T(1);
    }
  }
}

/// Multiplies dX by phi'(x), which is 1 for x > 0, else phi(x).
template <class T>
void elu_features_backward(const ConstTokens<T>& X, const ConstTokens<T>& F, Tokens<T> dX) {
  for (Index i = 0; i < X.rows(); ++i) {
    for (Index j = 0; j < X.cols(); ++j) {
      if (!(X(i, j) > T(0))) dX(i, j) *= F(i, j);
    }
  }
}

template <class T>
class LinearTransformerCore final : public HeadCore<T> {
 public:
  explicit LinearTransformerCore(bool causal) : causal_(causal) {}

  void forward(const LayerContext<T>& context,
               Index /*head*/,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override {
    const Index n = Q.rows();
    TokenMap<T> F = cache.array(kQueryFeatures, n, Q.cols());
    TokenMap<T> G = cache.array(kKeyFeatures, n, K.cols());
    elu_features<T>(Q, F);
    elu_features<T>(K, G);
    feature_attention<T>(context,
                         F,
                         G,
                         V,
                         causal_,
                         cache.array(kOneAndValues, n, V.cols() + 1),
                         cache.array(kRowSums, n, 1),
                         H);
  }

  void backward(const LayerContext<T>& context,
                Index /*head*/,
                const ConstTokens<T>& Q,
                const ConstTokens<T>& K,
                const ConstTokens<T>& V,
                const ConstTokens<T>& H,
                const ConstTokens<T>& dH,
                Tokens<T> dQ,
                Tokens<T> dK,
                Tokens<T> dV,
                Cache<T>& cache) const override {
    const Index n = Q.rows();
    const TokenMap<T> F = cache.array(kQueryFeatures, n, Q.cols());
    const TokenMap<T> G = cache.array(kKeyFeatures, n, K.cols());
    feature_attention_backward<T>(context,
                                  F,
                                  G,
                                  causal_,
                                  cache.array(kOneAndValues, n, V.cols() + 1),
                                  cache.array(kRowSums, n, 1),
                                  H,
                                  dH,
                                  dQ,
                                  dK,
                                  dV);
    elu_features_backward<T>(Q, F, dQ);
    elu_features_backward<T>(K, G, dK);
  }

  AttentionCost cost(Index length, Index width) const override {
    return {2 * length * width * (width + 1), 3 * length * width + 2 * length};
  }

 private:
  bool causal_;
};

}  // namespace

void LinearTransformerOptions::visit(OptionVisitor& v) {
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> linear_transformer(ParameterList& list,
                                                 const std::string& prefix,
                                                 const AttentionShape& shape,
                                                 const LinearTransformerOptions& options) {
  shape.validate("linear_transformer");
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<LinearTransformerCore<T>>(shape.causal),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(linear_transformer, LinearTransformerOptions);

}  // namespace matapprox::attention
