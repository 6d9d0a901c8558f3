#include <cmath>

#include "attention/kernels/axis_softmax.hpp"
#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache: K o m and V o m; E K and F V; both softmaxes.
enum RevisitedArray : Index {
  kMaskedKeys,
  kMaskedValues,
  kProjectedKeys,
  kProjectedValues,
  kQuerySoftmax,
  kKeySoftmax
};

/// E = key_factor times the parameter `keys`; F likewise.
struct Projections {
  ParameterSlot keys;
  ParameterSlot values;
  double key_factor = 1;
  double value_factor = 1;
};

template <class T>
class RevisitedCore final : public HeadCore<T> {
 public:
  RevisitedCore(const AttentionShape& shape, RevisitedAxes axes, const Projections& projections)
      : scale_(1 / std::sqrt(static_cast<double>(shape.head_width()))),
        printed_(axes == RevisitedAxes::kAsPrinted),
        to_(projections) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    const Index n = in.Q.rows();
    const Arrays a = arrays(cache, n, in.K.cols(), in.V.cols());
    copy_tokens<T>(context.mask, in.K, a.keys);
    copy_tokens<T>(context.mask, in.V, a.values);
    multiply<T>(context.value(to_.keys).leftCols(n), a.keys, a.EK, to_.key_factor);
    multiply<T>(context.value(to_.values).leftCols(n), a.values, a.FV, to_.value_factor);
    if (printed_) {
      softmax_columns<T>(context, context.mask, in.Q, scale_, a.A);
      softmax_rows<T>(a.EK, scale_, a.B);
    } else {
      softmax_rows<T>(in.Q, scale_, a.A);
      softmax_columns<T>(context, {}, a.EK, scale_, a.B);
    }
    bilinear<T>(context, {a.A, a.B, a.FV}, false, H);
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> /*H*/,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const Arrays a = arrays(cache, in.Q.rows(), in.K.cols(), in.V.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dB = scope.take(to_.keys.rows, in.K.cols());
    TokenMap<T> dFV = scope.take(to_.keys.rows, in.V.cols());
    bilinear_backward<T>(context, {a.A, a.B, a.FV}, false, dH, {d.Q, dB, dFV});
    if (printed_) {
      softmax_columns_backward<T>(context, a.A, scale_, d.Q, d.Q);
      softmax_rows_backward<T>(a.B, scale_, dB, dB);
    } else {
      softmax_rows_backward<T>(a.A, scale_, d.Q, d.Q);
      softmax_columns_backward<T>(context, a.B, scale_, dB, dB);
    }
    pull_back(context, to_.keys, to_.key_factor, a.keys, dB, d.K);
    pull_back(context, to_.values, to_.value_factor, a.values, dFV, d.V);
  }

  AttentionCost cost(Index length, Index width) const override {
    const Index k = to_.keys.rows;
    return {2 * length * k * width + (length + k) * width * width,
            3 * length * width + 3 * k * width};
  }

 private:
  struct Arrays {
    TokenMap<T> keys;
    TokenMap<T> values;
    TokenMap<T> EK;
    TokenMap<T> FV;
    TokenMap<T> A;
    TokenMap<T> B;
  };
  Arrays arrays(Cache<T>& cache, Index n, Index p, Index v) const {
    const Index k = to_.keys.rows;
    return {cache.array(kMaskedKeys, n, p),
            cache.array(kMaskedValues, n, v),
            cache.array(kProjectedKeys, k, p),
            cache.array(kProjectedValues, k, v),
            cache.array(kQuerySoftmax, n, p),
            cache.array(kKeySoftmax, k, p)};
  }

  /// Backward pass of Y = factor P X. Adds to the gradient of P (unused if P is not trained) and
  /// sets dX.
  void pull_back(Context<T> context,
                 const ParameterSlot& place,
                 double factor,
                 In<T> X,
                 In<T> dY,
                 Out<T> dX) const {
    const Index n = X.rows();
    multiply_by_transpose<T>(dY, X, context.gradient_of(place).leftCols(n), factor, true);
    multiply_transposed<T>(context.value(place).leftCols(n), dY, dX, factor);
    clear_padding<T>(context.mask, dX);
  }

  double scale_;
  bool printed_;
  Projections to_;
};

Projections add_projections(ParameterList& list,
                            const std::string& prefix,
                            const AttentionShape& shape,
                            const RevisitedLinformerOptions& options) {
  const Index k = options.rank;
  const Index n = shape.length;
  Projections to;
  if (options.projection == RevisitedProjection::kLearned) {
    const Initial initial = Initial::normal(1 / std::sqrt(static_cast<double>(n)));
    to.keys = list.add(prefix + ".E", k, n, initial);
    to.values = list.add(prefix + ".F", k, n, initial);
    return to;
  }
  const double delta = options.delta == 0 ? std::exp2(-static_cast<double>(n)) : options.delta;
  to.keys = list.add(prefix + ".R", k, n, Initial::normal(1 / std::sqrt(static_cast<double>(k))));
  to.values = to.keys;
  to.key_factor = delta;
  to.value_factor = std::exp(-delta);
  list.set_trained(prefix + ".R", false);
  return to;
}

}  // namespace

void RevisitedLinformerOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "number k of token mixtures that replace the tokens");
  v.visit_enum("axes", axes, "axes of the softmaxes");
  v.visit_enum("projection", projection, "learned E and F, or multiples of one fixed random R");
  v.visit("delta", delta, "for projection jl: E = delta R, F = exp(-delta) R; 0: 2^-length");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> revisited_linformer(ParameterList& list,
                                                  const std::string& prefix,
                                                  const AttentionShape& shape,
                                                  const RevisitedLinformerOptions& options) {
  shape.validate("revisited_linformer");
  check_width("revisited_linformer", "rank", options.rank, 1);
  require(options.delta >= 0 && std::isfinite(options.delta),
          "revisited_linformer: delta {} is not a number of at least 0",
          options.delta);
  require(!shape.causal,
          "revisited_linformer: cannot be causal: each of its k mixtures holds all tokens");
  auto core = std::make_unique<RevisitedCore<T>>(
      shape, options.axes, add_projections(list, prefix, shape, options));
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(revisited_linformer, RevisitedLinformerOptions);

}  // namespace matapprox::attention
