#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/mechanisms/feature_attention.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache.
enum LinearArray : Index { kQueryFeatures, kKeyFeatures };

/// phi(x) = elu(x) + 1: x + 1 for x > 0, else exp(x).
template <class T>
void elu_features(In<T> X, Out<T> F) {
  for (Index i = 0; i < X.rows(); ++i) {
    kernels::exp(X.row(i).data(), F.row(i).data(), X.cols());
    for (Index j = 0; j < X.cols(); ++j) {
      if (X(i, j) > T(0)) F(i, j) = X(i, j) + T(1);
    }
  }
}

/// Multiplies dX by phi'(x), which is 1 for x > 0, else phi(x).
template <class T>
void elu_features_backward(In<T> X, In<T> F, Out<T> dX) {
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

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    TokenMap<T> F = cache.array(kQueryFeatures, in.Q.rows(), in.Q.cols());
    TokenMap<T> G = cache.array(kKeyFeatures, in.K.rows(), in.K.cols());
    elu_features<T>(in.Q, F);
    elu_features<T>(in.K, G);
    feature_attention<T>(context, {F, G, in.V}, causal_, H, cache.child(0));
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> H,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const TokenMap<T> F = cache.array(kQueryFeatures, in.Q.rows(), in.Q.cols());
    const TokenMap<T> G = cache.array(kKeyFeatures, in.K.rows(), in.K.cols());
    feature_attention_backward<T>(context, {F, G, in.V}, causal_, H, dH, d, cache.child(0));
    elu_features_backward<T>(in.Q, F, d.Q);
    elu_features_backward<T>(in.K, G, d.K);
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
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  auto core = std::make_unique<LinearTransformerCore<T>>(shape.causal);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(linear_transformer, LinearTransformerOptions);

}  // namespace matapprox::attention
