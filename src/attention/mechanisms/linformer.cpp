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
enum LinformerArray : Index {
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

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override {
    TokenMap<T> keys = cache.array(kMixedKeys, rank_, in.K.cols());
    TokenMap<T> values = cache.array(kMixedValues, rank_, in.V.cols());
    const auto [E, F] = mixtures(in.head);
    mix(context, E, in.K, keys);
    mix(context, F, in.V, values);
    softmax_.forward(unmasked(context), {in.Q, keys, values, in.head}, H, cache.child(0));
  }

  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> H,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override {
    const TokenMap<T> keys = cache.array(kMixedKeys, rank_, in.K.cols());
    const TokenMap<T> values = cache.array(kMixedValues, rank_, in.V.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    const HeadGradients<T> mixed{
        d.Q, scope.take(rank_, in.K.cols()), scope.take(rank_, in.V.cols())};
    const auto [E, F] = mixtures(in.head);
    softmax_.backward(
        unmasked(context), {in.Q, keys, values, in.head}, H, dH, mixed, cache.child(0));
    mix_backward(context, E, in.K, mixed.K, d.K);
    mix_backward(context, F, in.V, mixed.V, d.V);
  }

  /// True if all heads share E and F: then E (X W + 1 b^T) is (E X) W + (E 1) b^T, and the
  /// projections of k rows are much less work than those of N.
  bool mixes_tokens() const override { return shared_; }

  void forward_tokens(Context<T> context,
                      In<T> X,
                      const Linear<T>& key,
                      const Linear<T>& value,
                      const HeadArrays<T>& Q,
                      const HeadArrays<T>& H,
                      Cache<T>& cache) const override {
    const auto [E, F] = mixtures(0);
    const MixedTokens shared(cache.child(Q.count), rank_, X.cols());
    mix_tokens(context, E, X, shared.key_tokens, shared.key_sums);
    mix_tokens(context, F, X, shared.value_tokens, shared.value_sums);
    key.apply_to_mixtures(context, shared.key_tokens, shared.key_sums, shared.keys);
    value.apply_to_mixtures(context, shared.value_tokens, shared.value_sums, shared.values);
    for (Index h = 0; h < Q.count; ++h) {
      softmax_.forward(unmasked(context), shared.head(Q, h), H[h], cache.child(h));
    }
  }

  void backward_tokens(Context<T> context,
                       In<T> X,
                       const Linear<T>& key,
                       const Linear<T>& value,
                       const HeadArrays<T>& Q,
                       const HeadArrays<T>& H,
                       const HeadArrays<T>& dH,
                       const HeadArrays<T>& dQ,
                       Out<T> dX,
                       Cache<T>& cache) const override {
    const auto [E, F] = mixtures(0);
    const MixedTokens shared(cache.child(Q.count), rank_, X.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> d_keys = scope.take(rank_, X.cols());
    TokenMap<T> d_values = scope.take(rank_, X.cols());
    for (Index h = 0; h < Q.count; ++h) {
      const HeadGradients<T> d{dQ[h],
                               d_keys.middleCols(h * Q.width, Q.width),
                               d_values.middleCols(h * Q.width, Q.width)};
      softmax_.backward(unmasked(context), shared.head(Q, h), H[h], dH[h], d, cache.child(h));
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
    /// Returns the queries of a head, with its columns of the mixtures as keys and values.
    HeadInputs<T> head(const HeadArrays<T>& Q, Index h) const {
      return {
          Q[h], keys.middleCols(h * Q.width, Q.width), values.middleCols(h * Q.width, Q.width), h};
    }
    TokenMap<T> keys;
    TokenMap<T> values;
    TokenMap<T> key_tokens;
    TokenMap<T> value_tokens;
    TokenMap<T> key_sums;
    TokenMap<T> value_sums;
  };
  /// Returns the copy.rows() rows of X from row i on. If there is padding, returns `copy`, in which
  /// the rows of padding are 0.
  static ConstTokens<T> real_tokens(Context<T> context, In<T> X, Index i, Out<T> copy) {
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
  static void mix_tokens(
      Context<T> context, const ParameterSlot& E, In<T> X, Out<T> Y, Out<T> sums) {
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
  static void mix_gradient(Context<T> context,
                           const ParameterSlot& E,
                           Index i,
                           In<T> tokens,
                           In<T> d_mixed,
                           In<T> d_sums) {
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
  static void mix(Context<T> context, const ParameterSlot& E, In<T> X, Out<T> Y) {
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
  static void mix_backward(
      Context<T> context, const ParameterSlot& E, In<T> X, In<T> dY, Out<T> dX) {
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
  static void turn(Context<T> context, const TokenMap<T>& columns, Index i, Out<T> dX) {
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
  const MultiHeadOptions heads{.output_projection = options.output_projection};
  return std::make_unique<MultiHead<T>>(list, prefix, shape, std::move(core), heads);
}

MATAPPROX_INSTANTIATE_MECHANISM(linformer, LinformerOptions);

}  // namespace matapprox::attention
