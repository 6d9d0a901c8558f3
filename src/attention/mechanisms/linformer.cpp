#include <algorithm>
#include <array>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/kernels/tiled_softmax.hpp"
#include "matapprox/attention/layers/multi_head.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache; the first two are E K and F V.
enum LinformerArray : std::size_t {
  kMixedKeys,
  kMixedValues,
  kMixedKeyTokens,  // E X and F X, and the row sums of E and F
  kMixedValueTokens,
  kKeySums,
  kValueSums
};

/// Number of tokens that are mixed at a time: those of all heads, and their part of E, stay in a
/// core's cache.
constexpr Index kMixedRows = 256;

/// E and F of each head. Equal slots are shared.
struct Mixtures {
  std::vector<ParameterSlot> keys;
  std::vector<ParameterSlot> values;
};

/// Softmax attention whose keys and values are E K and F V.
template <class T>
class LinformerCore final : public HeadCore<T> {
 public:
  LinformerCore(const AttentionShape& shape, Index rank, bool shared, Mixtures mixtures)
      : rank_(rank),
        shared_(shared),
        mixtures_(std::move(mixtures)),
        softmax_(shape, std::make_unique<AllTiles>()) {}

  void forward(const LayerContext<T>& context,
               Index head,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override {
    TokenMap<T> mixed_keys = cache.array(kMixedKeys, rank_, K.cols());
    TokenMap<T> mixed_values = cache.array(kMixedValues, rank_, V.cols());
    const auto [E, F] = mixtures(head);
    mix(context, E, K, mixed_keys);
    mix(context, F, V, mixed_values);
    softmax_.forward(unmasked(context), head, Q, mixed_keys, mixed_values, H, cache.child(0));
  }

  void backward(const LayerContext<T>& context,
                Index head,
                const ConstTokens<T>& Q,
                const ConstTokens<T>& K,
                const ConstTokens<T>& V,
                const ConstTokens<T>& H,
                const ConstTokens<T>& dH,
                Tokens<T> dQ,
                Tokens<T> dK,
                Tokens<T> dV,
                Cache<T>& cache) const override {
    const TokenMap<T> mixed_keys = cache.array(kMixedKeys, rank_, K.cols());
    const TokenMap<T> mixed_values = cache.array(kMixedValues, rank_, V.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> d_mixed_keys = scope.take(rank_, K.cols());
    TokenMap<T> d_mixed_values = scope.take(rank_, V.cols());
    const auto [E, F] = mixtures(head);
    softmax_.backward(unmasked(context),
                      head,
                      Q,
                      mixed_keys,
                      mixed_values,
                      H,
                      dH,
                      dQ,
                      d_mixed_keys,
                      d_mixed_values,
                      cache.child(0));
    mix_backward(context, E, K, d_mixed_keys, dK);
    mix_backward(context, F, V, d_mixed_values, dV);
  }

  /// True if all heads share E and F: then E (X W + 1 b^T) is (E X) W + (E 1) b^T, and the
  /// projections of k rows are much less work than those of N.
  bool mixes_tokens() const override { return shared_; }

  void forward_tokens(const LayerContext<T>& context,
                      const ConstTokens<T>& X,
                      const Linear<T>& key,
                      const Linear<T>& value,
                      const HeadArrays<T>& Q,
                      const HeadArrays<T>& H,
                      Cache<T>& cache) const override {
    const auto [E, F] = mixtures(0);
    const MixedTokens shared(cache.child(static_cast<std::size_t>(Q.count)), rank_, X.cols());
    mix_tokens(context, E, X, shared.key_tokens, shared.key_sums);
    mix_tokens(context, F, X, shared.value_tokens, shared.value_sums);
    key.apply_to_mixtures(context, shared.key_tokens, shared.key_sums, shared.keys);
    value.apply_to_mixtures(context, shared.value_tokens, shared.value_sums, shared.values);
    for (Index h = 0; h < Q.count; ++h) {
      softmax_.forward(unmasked(context),
                       h,
                       Q[h],
                       shared.keys.middleCols(h * Q.width, Q.width),
                       shared.values.middleCols(h * Q.width, Q.width),
                       H[h],
                       cache.child(static_cast<std::size_t>(h)));
    }
  }

  void backward_tokens(const LayerContext<T>& context,
                       const ConstTokens<T>& X,
                       const Linear<T>& key,
                       const Linear<T>& value,
                       const HeadArrays<T>& Q,
                       const HeadArrays<T>& H,
                       const HeadArrays<T>& dH,
                       const HeadArrays<T>& dQ,
                       Tokens<T> dX,
                       Cache<T>& cache) const override {
    const auto [E, F] = mixtures(0);
    const MixedTokens shared(cache.child(static_cast<std::size_t>(Q.count)), rank_, X.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> d_keys = scope.take(rank_, X.cols());
    TokenMap<T> d_values = scope.take(rank_, X.cols());
    for (Index h = 0; h < Q.count; ++h) {
      softmax_.backward(unmasked(context),
                        h,
                        Q[h],
                        shared.keys.middleCols(h * Q.width, Q.width),
                        shared.values.middleCols(h * Q.width, Q.width),
                        H[h],
                        dH[h],
                        dQ[h],
                        d_keys.middleCols(h * Q.width, Q.width),
                        d_values.middleCols(h * Q.width, Q.width),
                        cache.child(static_cast<std::size_t>(h)));
    }
    TokenMap<T> d_key_tokens = scope.take(rank_, X.cols());
    TokenMap<T> d_value_tokens = scope.take(rank_, X.cols());
    TokenMap<T> d_key_sums = scope.take(rank_, 1);
    TokenMap<T> d_value_sums = scope.take(rank_, 1);
    key.pull_back_mixtures(
        context, shared.key_tokens, shared.key_sums, d_keys, d_key_tokens, d_key_sums);
    value.pull_back_mixtures(
        context, shared.value_tokens, shared.value_sums, d_values, d_value_tokens, d_value_sums);
    TokenMap<T> run = scope.take(kMixedRows, X.cols());
    TokenMap<T> columns = scope.take(X.cols(), kMixedRows);
    for (Index i = 0; i < X.rows(); i += kMixedRows) {
      const Index rows = std::min(kMixedRows, X.rows() - i);
      const ConstTokens<T> tokens = real_tokens(context, X, i, run.topRows(rows));
      mix_gradient(context, E, i, tokens, d_key_tokens, d_key_sums);
      mix_gradient(context, F, i, tokens, d_value_tokens, d_value_sums);
      // Computes (dY^T E)^T: the product packs its operands in storage order, and only its d rows
      // are transposed.
      multiply_transposed<T>(
          d_key_tokens, context.value(E).middleCols(i, rows), columns.leftCols(rows));
      multiply_transposed<T>(
          d_value_tokens, context.value(F).middleCols(i, rows), columns.leftCols(rows), 1, true);
      turn(context, columns, i, dX.middleRows(i, rows));
    }
  }

  /// Cost of the products with E and F, and of softmax attention with k keys.
  AttentionCost cost(Index length, Index width) const override {
    return {4 * length * rank_ * width, length + 2 * rank_ * width};
  }
  /// Cost with the projections of k mixtures in place of those of N tokens.
  AttentionCost tokens_cost(Index length, Index width, Index heads) const override {
    return {4 * length * rank_ * width + 2 * rank_ * width * width,
            heads * length + 4 * rank_ * width + 2 * rank_};
  }

 private:
  /// Tokens mixed by E and F, before and after the projections. All heads share them.
  struct MixedTokens {
    MixedTokens(Cache<T>& cache, Index rank, Index width)
        : keys(cache.array(kMixedKeys, rank, width)),
          values(cache.array(kMixedValues, rank, width)),
          key_tokens(cache.array(kMixedKeyTokens, rank, width)),
          value_tokens(cache.array(kMixedValueTokens, rank, width)),
          key_sums(cache.array(kKeySums, rank, 1)),
          value_sums(cache.array(kValueSums, rank, 1)) {}
    TokenMap<T> keys;
    TokenMap<T> values;
    TokenMap<T> key_tokens;
    TokenMap<T> value_tokens;
    TokenMap<T> key_sums;
    TokenMap<T> value_sums;
  };
  /// Returns the copy.rows() rows of X from row i on. If there is padding, returns `copy`, in which
  /// the rows of padding are 0.
  static ConstTokens<T> real_tokens(const LayerContext<T>& context,
                                    const ConstTokens<T>& X,
                                    Index i,
                                    Tokens<T> copy) {
    if (context.mask.empty()) return X.middleRows(i, copy.rows());
    for (Index a = 0; a < copy.rows(); ++a) {
      if (is_token(context.mask, i + a)) {
        copy.row(a) = X.row(i + a);
      } else {
        copy.row(a).setZero();
      }
    }
    return copy;
  }
  /// Y = E X over the tokens; sums = the row sums of E over the tokens.
  static void mix_tokens(const LayerContext<T>& context,
                         const ParameterSlot& E,
                         const ConstTokens<T>& X,
                         Tokens<T> Y,
                         Tokens<T> sums) {
    mix(context, E, X, Y);
    sums.setZero();
    for (Index i = 0; i < X.rows(); i += kMixedRows) {
      const Index rows = std::min(kMixedRows, X.rows() - i);
      const auto weights = context.value(E).middleCols(i, rows);
      if (context.mask.empty()) {
        sums.col(0) += weights.rowwise().sum();
        continue;
      }
      for (Index a = 0; a < rows; ++a) {
        if (is_token(context.mask, i + a)) sums.col(0) += weights.col(a);
      }
    }
  }
  /// Adds to the gradient of E, in the columns of the tokens from i on, the contributions of the
  /// mixtures and of their sums.
  static void mix_gradient(const LayerContext<T>& context,
                           const ParameterSlot& E,
                           Index i,
                           const ConstTokens<T>& tokens,
                           const ConstTokens<T>& d_mixed,
                           const ConstTokens<T>& d_sums) {
    auto gradient = context.gradient_of(E).middleCols(i, tokens.rows());
    multiply_by_transpose<T>(d_mixed, tokens, gradient, 1, true);
    if (context.mask.empty()) {
      gradient.colwise() += d_sums.col(0);
      return;
    }
    for (Index a = 0; a < tokens.rows(); ++a) {
      if (is_token(context.mask, i + a)) gradient.col(a) += d_sums.col(0);
    }
  }
  std::pair<ParameterSlot, ParameterSlot> mixtures(Index head) const {
    const auto h = static_cast<std::size_t>(head);
    return {mixtures_.keys[h], mixtures_.values[h]};
  }
  /// Returns the context without its mask, since mixtures are never padding.
  static LayerContext<T> unmasked(LayerContext<T> context) {
    context.mask = {};
    return context;
  }
  /// Y = E X over the tokens.
  static void mix(const LayerContext<T>& context,
                  const ParameterSlot& E,
                  const ConstTokens<T>& X,
                  Tokens<T> Y) {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> run = scope.take(kMixedRows, X.cols());
    for (Index i = 0; i < X.rows(); i += kMixedRows) {
      const Index rows = std::min(kMixedRows, X.rows() - i);
      multiply<T>(context.value(E).middleCols(i, rows),
                  real_tokens(context, X, i, run.topRows(rows)),
                  Y,
                  1,
                  i > 0);
    }
  }
  /// Adds dY X^T to the gradient of E; dX = E^T dY.
  static void mix_backward(const LayerContext<T>& context,
                           const ParameterSlot& E,
                           const ConstTokens<T>& X,
                           const ConstTokens<T>& dY,
                           Tokens<T> dX) {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> run = scope.take(kMixedRows, X.cols());
    TokenMap<T> columns = scope.take(X.cols(), kMixedRows);
    for (Index i = 0; i < X.rows(); i += kMixedRows) {
      const Index rows = std::min(kMixedRows, X.rows() - i);
      multiply_by_transpose<T>(dY,
                               real_tokens(context, X, i, run.topRows(rows)),
                               context.gradient_of(E).middleCols(i, rows),
                               1,
                               true);
      // Computes (dY^T E)^T: the product packs its operands in storage order, and only its d rows
      // are transposed.
      multiply_transposed<T>(dY, context.value(E).middleCols(i, rows), columns.leftCols(rows));
      turn(context, columns, i, dX.middleRows(i, rows));
    }
  }
  /// dX = columns^T for the tokens from i on. Rows of padding are 0.
  static void turn(const LayerContext<T>& context,
                   const TokenMap<T>& columns,
                   Index i,
                   Tokens<T> dX) {
    std::array<T, kMixedRows> ones;
    ones.fill(T(1));
    kernels::softmax_tiles<T>().transpose_back(columns.data(),
                                               columns.cols(),
                                               dX.rows(),
                                               dX.cols(),
                                               ones.data(),
                                               {dX.data(), dX.outerStride()});
    for (Index a = 0; a < dX.rows(); ++a) {
      if (!is_token(context.mask, i + a)) dX.row(a).setZero();
    }
  }

  Index rank_;
  bool shared_;  ///< all heads share E and F
  Mixtures mixtures_;
  TiledSoftmaxCore<T> softmax_;
};

/// Returns the name of a mixture's parameter, which depends on the scope that shares it.
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
  v.visit("rank", rank, "number k of token mixtures that replace the tokens");
  v.visit_enum("scope", scope, "scope that shares one pair of projections E, F");
  v.visit("tied", tied, "use F = E");
  v.visit("output_projection", output_projection, "linear map of the concatenated heads");
}

template <class T>
std::unique_ptr<Attention<T>> linformer(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const LinformerOptions& options) {
  shape.validate("linformer", Probabilities::kFormed);
  check_width("linformer", "rank", options.rank, 1);
  require(!shape.causal, "linformer: cannot be causal: each of its k mixtures holds all tokens");
  auto core =
      std::make_unique<LinformerCore<T>>(shape,
                                         options.rank,
                                         options.scope != LinformerScope::kHead || shape.heads == 1,
                                         add_mixtures(list, prefix, shape, options));
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::move(core),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(linformer, LinformerOptions);

}  // namespace matapprox::attention
