#include <cmath>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Array of the cache: V o m times the factor of the length.
constexpr std::size_t kScaledValues = 0;

template <class T>
class SimpletronCore final : public HeadCore<T> {
 public:
  SimpletronCore(SimpletronScale scale, bool causal) : scale_(scale), causal_(causal) {}

  void forward(const LayerContext<T>& context,
               Index /*head*/,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override {
    TokenMap<T> U = cache.array(kScaledValues, V.rows(), V.cols());
    copy_tokens<T>(context.mask, V, U);
    U *= factor(context, V.rows());
    bilinear<T>(context, Q, K, U, causal_, H);
  }

  void backward(const LayerContext<T>& context,
                Index /*head*/,
                const ConstTokens<T>& Q,
                const ConstTokens<T>& K,
                const ConstTokens<T>& V,
                const ConstTokens<T>& /*H*/,
                const ConstTokens<T>& dH,
                Tokens<T> dQ,
                Tokens<T> dK,
                Tokens<T> dV,
                Cache<T>& cache) const override {
    const TokenMap<T> U = cache.array(kScaledValues, V.rows(), V.cols());
    bilinear_backward<T>(context, Q, K, U, causal_, dH, dQ, dK, dV);
    dV *= factor(context, V.rows());
    clear_padding<T>(context.mask, dV);
    clear_padding<T>(context.mask, dK);
  }

  AttentionCost cost(Index length, Index width) const override {
    return {2 * length * width * width, length * width};
  }

 private:
  T factor(const LayerContext<T>& context, Index n) const {
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
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<SimpletronCore<T>>(options.scale, shape.causal),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(simpletron, SimpletronOptions);

}  // namespace matapprox::attention
