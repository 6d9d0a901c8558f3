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
enum EfficientArray : Index { kQueryWeights, kKeyWeights, kTokenValues };

template <class T>
class EfficientCore final : public HeadCore<T> {
 public:
  explicit EfficientCore(double scale) : scale_(scale) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    TokenMap<T> A = cache.array(kQueryWeights, in.Q.rows(), in.Q.cols());
    TokenMap<T> B = cache.array(kKeyWeights, in.K.rows(), in.K.cols());
    TokenMap<T> U = cache.array(kTokenValues, in.V.rows(), in.V.cols());
    softmax_rows<T>(in.Q, scale_, A);
    softmax_columns<T>(context, context.mask, in.K, scale_, B);
    copy_tokens<T>(context.mask, in.V, U);
    bilinear<T>(context, {A, B, U}, false, H);
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const TokenMap<T> A = cache.array(kQueryWeights, in.Q.rows(), in.Q.cols());
    const TokenMap<T> B = cache.array(kKeyWeights, in.K.rows(), in.K.cols());
    const TokenMap<T> U = cache.array(kTokenValues, in.V.rows(), in.V.cols());
    bilinear_backward<T>(context, {A, B, U}, false, dH, d);
    softmax_rows_backward<T>(A, scale_, d.Q, d.Q);
    softmax_columns_backward<T>(context, B, scale_, d.K, d.K);
    clear_padding<T>(context.mask, d.V);
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
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  auto core = std::make_unique<EfficientCore<T>>(scale);
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(efficient, EfficientOptions);

}  // namespace matapprox::attention
