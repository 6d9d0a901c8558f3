#include <cmath>

#include "attention/kernels/axis_softmax.hpp"
#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache.
enum EfficientArray : std::size_t { kQueryWeights, kKeyWeights, kTokenValues };

template <class T>
class EfficientCore final : public HeadCore<T> {
 public:
  explicit EfficientCore(double scale) : scale_(scale) {}

  void forward(const LayerContext<T>& context,
               Index /*head*/,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override {
    const Index n = Q.rows();
    TokenMap<T> A = cache.array(kQueryWeights, n, Q.cols());
    TokenMap<T> B = cache.array(kKeyWeights, n, K.cols());
    TokenMap<T> U = cache.array(kTokenValues, n, V.cols());
    softmax_rows<T>(Q, scale_, A);
    softmax_columns<T>(context, context.mask, K, scale_, B);
    copy_tokens<T>(context.mask, V, U);
    bilinear<T>(context, A, B, U, false, H);
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
    const Index n = Q.rows();
    const TokenMap<T> A = cache.array(kQueryWeights, n, Q.cols());
    const TokenMap<T> B = cache.array(kKeyWeights, n, K.cols());
    const TokenMap<T> U = cache.array(kTokenValues, n, V.cols());
    bilinear_backward<T>(context, A, B, U, false, dH, dQ, dK, dV);
    softmax_rows_backward<T>(A, scale_, dQ, dQ);
    softmax_columns_backward<T>(context, B, scale_, dK, dK);
    clear_padding<T>(context.mask, dV);
  }

  AttentionCost cost(Index length, Index width) const override {
    return {2 * length * width * width, 3 * length * width};
  }

 private:
  double scale_;
};

}  // namespace

void EfficientOptions::visit(OptionVisitor& v) {
  v.visit("scaled", scaled, "divide queries and keys by the square root of the head's width");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> efficient(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const EfficientOptions& options) {
  shape.validate("efficient");
  require(!shape.causal, "efficient: cannot be causal: keys are normalized over all tokens");
  const double scale =
      options.scaled ? 1 / std::sqrt(static_cast<double>(shape.head_width())) : 1.0;
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<EfficientCore<T>>(scale),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(efficient, EfficientOptions);

}  // namespace matapprox::attention
