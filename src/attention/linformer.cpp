#include "matapprox/attention/linformer.hpp"

#include <cmath>

#include "attention/bilinear.hpp"
#include "attention/elementwise.hpp"
#include "attention/instantiate.hpp"
#include "matapprox/attention/dropout.hpp"
#include "matapprox/attention/multi_head.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache: K o m, V o m, E K, F V, the probabilities, and with dropout what is left of
// them.
enum LinformerArray : std::size_t {
  kKeys,
  kValues,
  kMixedKeys,
  kMixedValues,
  kProbabilities,
  kKeptProbabilities
};

/// E and F of each head; equal places are shared.
struct Mixtures {
  std::vector<ParameterSlot> keys;
  std::vector<ParameterSlot> values;
};

template <class T>
class LinformerCore final : public HeadCore<T> {
 public:
  LinformerCore(const AttentionShape& shape, Index rank, Mixtures mixtures)
      : scale_(1 / std::sqrt(static_cast<double>(shape.head_width()))),
        rank_(rank),
        dropout_(shape),
        mixtures_(std::move(mixtures)) {}

  void forward(const LayerContext<T>& context,
               Index head,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override {
    const Index n = Q.rows();
    TokenMap<T> keys = cache.array(kKeys, n, K.cols());
    TokenMap<T> values = cache.array(kValues, n, V.cols());
    TokenMap<T> mixed_keys = cache.array(kMixedKeys, rank_, K.cols());
    TokenMap<T> mixed_values = cache.array(kMixedValues, rank_, V.cols());
    TokenMap<T> P = cache.array(kProbabilities, n, rank_);
    copy_tokens<T>(context.mask, K, keys);
    copy_tokens<T>(context.mask, V, values);
    const auto [E, F] = mixtures(head);
    multiply<T>(context.value(E).leftCols(n), keys, mixed_keys);
    multiply<T>(context.value(F).leftCols(n), values, mixed_values);
    multiply_by_transpose<T>(Q, mixed_keys, P, scale_);
    for (Index i = 0; i < n; ++i) kernels::softmax_row(P.row(i).data(), P.row(i).data(), rank_);
    if (!dropout_.acts(context)) {
      multiply<T>(P, mixed_values, H);
      return;
    }
    TokenMap<T> kept = cache.array(kKeptProbabilities, n, rank_);
    kept = P;
    dropout_.apply<T>(context, head, 0, 0, kept);
    multiply<T>(kept, mixed_values, H);
  }

  void backward(const LayerContext<T>& context,
                Index head,
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
    const TokenMap<T> keys = cache.array(kKeys, n, K.cols());
    const TokenMap<T> values = cache.array(kValues, n, V.cols());
    const TokenMap<T> mixed_keys = cache.array(kMixedKeys, rank_, K.cols());
    const TokenMap<T> mixed_values = cache.array(kMixedValues, rank_, V.cols());
    const TokenMap<T> P = cache.array(kProbabilities, n, rank_);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dS = scope.take(n, rank_);
    TokenMap<T> d_mixed_keys = scope.take(rank_, K.cols());
    TokenMap<T> d_mixed_values = scope.take(rank_, V.cols());
    const auto [E, F] = mixtures(head);

    const bool drops = dropout_.acts(context);
    multiply_transposed<T>(
        drops ? cache.array(kKeptProbabilities, n, rank_) : P, dH, d_mixed_values);
    multiply_by_transpose<T>(dH, mixed_values, dS);
    dropout_.apply<T>(context, head, 0, 0, dS);
    for (Index i = 0; i < n; ++i) {
      kernels::softmax_row_backward(
          P.row(i).data(), dS.row(i).data(), dS.row(i).data(), rank_, false);
    }
    multiply<T>(dS, mixed_keys, dQ, scale_);
    multiply_transposed<T>(dS, Q, d_mixed_keys, scale_);
    multiply_by_transpose<T>(d_mixed_keys, keys, context.gradient_of(E).leftCols(n), 1, true);
    multiply_by_transpose<T>(d_mixed_values, values, context.gradient_of(F).leftCols(n), 1, true);
    multiply_transposed<T>(context.value(E).leftCols(n), d_mixed_keys, dK);
    multiply_transposed<T>(context.value(F).leftCols(n), d_mixed_values, dV);
    clear_padding<T>(context.mask, dK);
    clear_padding<T>(context.mask, dV);
  }

  AttentionCost cost(Index length, Index width) const override {
    const Index probabilities = (dropout_.rate() > 0 ? 2 : 1) * length * rank_;
    return {4 * length * rank_ * width, probabilities + 2 * rank_ * width + 2 * length * width};
  }

 private:
  std::pair<ParameterSlot, ParameterSlot> mixtures(Index head) const {
    const auto h = static_cast<std::size_t>(head);
    return {mixtures_.keys[h], mixtures_.values[h]};
  }

  double scale_;
  Index rank_;
  ProbabilityDropout dropout_;
  Mixtures mixtures_;
};

/// The parameter's name says what shares it.
std::string mixture_name(const std::string& prefix,
                         LinformerScope scope,
                         Index head,
                         const char* name) {
  switch (scope) {
    case LinformerScope::kHead:
      return fmt::format("{}.{}{}", prefix, name, head);
    case LinformerScope::kLayer:
      return fmt::format("{}.{}", prefix, name);
    case LinformerScope::kModel:
      return fmt::format("linformer.{}", name);
  }
  throw InvalidArgument("linformer: unknown scope");
}

Mixtures add_mixtures(ParameterList& list,
                      const std::string& prefix,
                      const AttentionShape& shape,
                      const LinformerOptions& options) {
  const Initial initial = Initial::normal(1 / std::sqrt(static_cast<double>(shape.length)));
  const auto place = [&](Index head, const char* name) {
    const std::string full = mixture_name(prefix, options.scope, head, name);
    return ParameterSlot(list.add_shared(full, options.rank, shape.length, initial));
  };
  Mixtures mixtures;
  for (Index h = 0; h < shape.heads; ++h) {
    mixtures.keys.push_back(place(h, "E"));
    mixtures.values.push_back(place(h, options.tied ? "E" : "F"));
  }
  return mixtures;
}

}  // namespace

void LinformerOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "k: mixtures of tokens that take the place of the tokens");
  v.visit_enum("scope", scope, "what shares one pair of projections E, F");
  v.visit("tied", tied, "F = E");
  v.visit("output_projection", output_projection, "a linear map of the heads side by side");
}

template <class T>
std::unique_ptr<Attention<T>> linformer(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const LinformerOptions& options) {
  shape.validate("linformer", Probabilities::kFormed);
  check_width("linformer", "rank", options.rank, 1);
  require(!shape.causal, "linformer: cannot be causal, each of its k mixtures holds all tokens");
  auto core = std::make_unique<LinformerCore<T>>(
      shape, options.rank, add_mixtures(list, prefix, shape, options));
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::move(core),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(linformer, LinformerOptions);

}  // namespace matapprox::attention
