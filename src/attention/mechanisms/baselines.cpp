#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"

namespace matapprox::attention {
namespace {

template <class T>
class IdentityCore final : public HeadCore<T> {
 public:
  void forward(const LayerContext<T>& /*context*/,
               Index /*head*/,
               const ConstTokens<T>& /*Q*/,
               const ConstTokens<T>& /*K*/,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& /*cache*/) const override {
    H = V;
  }
  void backward(const LayerContext<T>& /*context*/,
                Index /*head*/,
                const ConstTokens<T>& /*Q*/,
                const ConstTokens<T>& /*K*/,
                const ConstTokens<T>& /*V*/,
                const ConstTokens<T>& /*H*/,
                const ConstTokens<T>& dH,
                Tokens<T> /*dQ*/,
                Tokens<T> /*dK*/,
                Tokens<T> dV,
                Cache<T>& /*cache*/) const override {
    dV = dH;
  }
  AttentionCost cost(Index /*length*/, Index /*width*/) const override { return {}; }
};

template <class T>
class MeanCore final : public HeadCore<T> {
 public:
  explicit MeanCore(bool causal) : causal_(causal) {}

  void forward(const LayerContext<T>& context,
               Index /*head*/,
               const ConstTokens<T>& /*Q*/,
               const ConstTokens<T>& /*K*/,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& /*cache*/) const override {
    const Index n = V.rows();
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> sum = scope.take(1, V.cols());
    sum.setZero();
    Index count = 0;
    for (Index i = 0; i < n; ++i) {
      if (is_token(context.mask, i)) {
        sum += V.row(i);
        ++count;
      }
      if (causal_) H.row(i) = sum * share(count);
    }
    if (causal_) return;
    sum *= share(count);
    for (Index i = 0; i < n; ++i) H.row(i) = sum;
  }

  void backward(const LayerContext<T>& context,
                Index /*head*/,
                const ConstTokens<T>& /*Q*/,
                const ConstTokens<T>& /*K*/,
                const ConstTokens<T>& /*V*/,
                const ConstTokens<T>& /*H*/,
                const ConstTokens<T>& dH,
                Tokens<T> /*dQ*/,
                Tokens<T> /*dK*/,
                Tokens<T> dV,
                Cache<T>& /*cache*/) const override {
    const Index n = dH.rows();
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> sum = scope.take(1, dH.cols());
    Index count = 0;
    for (Index i = 0; i < n; ++i) count += is_token(context.mask, i) ? 1 : 0;
    sum.setZero();
    if (!causal_) sum = dH.colwise().sum() * share(count);
    // Causal: going up from the last row, sum the gradients of the rows whose mean includes token
    // i.
    for (Index i = n - 1; i >= 0; --i) {
      if (causal_) sum += dH.row(i) * share(count);
      if (is_token(context.mask, i)) {
        dV.row(i) = sum;
        --count;
      } else {
        dV.row(i).setZero();
      }
    }
  }

  AttentionCost cost(Index length, Index width) const override { return {length * width, 0}; }

 private:
  static T share(Index count) { return T(count == 0 ? 0.0 : 1.0 / static_cast<double>(count)); }
  bool causal_;
};

MultiHeadOptions without_queries(bool output_projection) {
  return {.output_projection = output_projection, .queries = false};
}

}  // namespace

void TokenwiseOptions::visit(OptionVisitor& v) {
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

void MeanOptions::visit(OptionVisitor& v) {
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> tokenwise(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const TokenwiseOptions& options) {
  shape.validate("tokenwise");
  return std::make_unique<MultiHead<T>>(list,
                                        prefix,
                                        shape,
                                        std::make_unique<IdentityCore<T>>(),
                                        without_queries(options.output_projection));
}

template <class T>
std::unique_ptr<Attention<T>> mean(ParameterList& list,
                                   const std::string& prefix,
                                   const AttentionShape& shape,
                                   const MeanOptions& options) {
  shape.validate("mean");
  return std::make_unique<MultiHead<T>>(list,
                                        prefix,
                                        shape,
                                        std::make_unique<MeanCore<T>>(shape.causal),
                                        without_queries(options.output_projection));
}

MATAPPROX_INSTANTIATE_MECHANISM(tokenwise, TokenwiseOptions);
MATAPPROX_INSTANTIATE_MECHANISM(mean, MeanOptions);

}  // namespace matapprox::attention
