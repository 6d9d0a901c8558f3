#include <cmath>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Array of the cache: V o m times the factor of the length.
constexpr Index kScaledValues = 0;

template <class T>
class SimpletronCore final : public HeadCore<T> {
 public:
  SimpletronCore(SimpletronScale scale, bool causal) : scale_(scale), causal_(causal) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    TokenMap<T> U = cache.array(kScaledValues, in.V.rows(), in.V.cols());
    copy_tokens<T>(context.mask, in.V, U);
    U *= factor(context, in.V.rows());
    bilinear<T>(context, {in.Q, in.K, U}, causal_, H);
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const TokenMap<T> U = cache.array(kScaledValues, in.V.rows(), in.V.cols());
    bilinear_backward<T>(context, {in.Q, in.K, U}, causal_, dH, d);
    d.V *= factor(context, in.V.rows());
    clear_padding<T>(context.mask, d.V);
    clear_padding<T>(context.mask, d.K);
  }

  AttentionCost cost(Index length, Index width) const override {
    return {2 * length * width * width, length * width};
  }

 private:
  T factor(Context<T> context, Index n) const {
    const auto count = static_cast<double>(std::max<Index>(count_tokens(context.mask, n), 1));
    switch (scale_) {
      case SimpletronScale::kNone:
        return T(1.0);
      case SimpletronScale::kInverseSqrtLength:
        return T(1 / std::sqrt(count));
      case SimpletronScale::kInverseLength:
        return T(1 / count);
    }
    throw InvalidArgument("simpletron: unknown scale");
  }

  SimpletronScale scale_;
  bool causal_;
};

}  // namespace

void SimpletronOptions::visit(OptionVisitor& v) {
  v.visit_enum("scale", scale, "factor of Q (K^T V)");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> simpletron(ParameterList& list,
                                         const std::string& prefix,
                                         const AttentionShape& shape,
                                         const SimpletronOptions& options) {
  shape.validate("simpletron");
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  auto core = std::make_unique<SimpletronCore<T>>(options.scale, shape.causal);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(simpletron, SimpletronOptions);

}  // namespace matapprox::attention
