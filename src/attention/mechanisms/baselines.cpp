#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"

namespace matapprox::attention {
namespace {

template <class T>
class IdentityCore final : public HeadCore<T> {
 public:
  void forward(Context<T> /*context*/,
               HeadInputs<T> in,
               Out<T> H,
               Cache<T>& /*cache*/) const override {
    H = in.V;
  }
  void backward(Context<T> /*context*/,
                HeadInputs<T> /*in*/,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& /*cache*/) const override {
    d.V = dH;
  }
  AttentionCost cost(Index /*length*/, Index /*width*/) const override { return {}; }
};

template <class T>
class MeanCore final : public HeadCore<T> {
 public:
  explicit MeanCore(bool causal) : causal_(causal) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& /*cache*/) const override {
    const Index n = in.V.rows();
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> sum = scope.take(1, in.V.cols());
    sum.setZero();
    Index count = 0;
    for (Index i = 0; i < n; ++i) {
      if (is_token(context.mask, i)) {
        sum += in.V.row(i);
        ++count;
      }
      if (causal_) H.row(i) = sum * share(count);
    }
    if (causal_) return;
    sum *= share(count);
    for (Index i = 0; i < n; ++i) H.row(i) = sum;
  }

  void backward(Context<T> context,
                HeadInputs<T> /*in*/,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
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
        d.V.row(i) = sum;
        --count;
      } else {
        d.V.row(i).setZero();
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
  auto core = std::make_unique<IdentityCore<T>>();
  const MultiHeadOptions heads = without_queries(options.output_projection);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

template <class T>
std::unique_ptr<Attention<T>> mean(ParameterList& list,
                                   const std::string& prefix,
                                   const AttentionShape& shape,
                                   const MeanOptions& options) {
  shape.validate("mean");
  auto core = std::make_unique<MeanCore<T>>(shape.causal);
  const MultiHeadOptions heads = without_queries(options.output_projection);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(tokenwise, TokenwiseOptions);
MATAPPROX_INSTANTIATE_MECHANISM(mean, MeanOptions);

}  // namespace matapprox::attention
