#include <algorithm>
#include <cmath>
#include <numbers>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/elementwise.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache: Z, U and V before and after SiLU; H = E V; U o H.
enum FlashArray : Index {
  kSharedBefore,
  kSharedAfter,
  kGateBefore,
  kGateAfter,
  kFlashValuesBefore,
  kFlashValues,
  kMixed,
  kGated
};
/// Copies of Z: rows of the scales and shifts.
enum FlashCopy : Index { kLocalQuery, kLocalKey, kGlobalQuery, kGlobalKey, kCopies };

/// Y = X / (1 + exp(-X)).
template <class T>
void silu(In<T> X, Out<T> Y) {
  for (Index i = 0; i < X.rows(); ++i) {
    Y.row(i) = -X.row(i);
    kernels::exp(Y.row(i).data(), Y.row(i).data(), Y.cols());
    Y.row(i).array() = X.row(i).array() / (Y.row(i).array() + T(1));
  }
}

/// Multiplies dX by the slope s (1 + x (1 - s)), where s = 1 / (1 + exp(-x)).
template <class T>
void silu_backward(Context<T> context, In<T> X, Out<T> dX) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> s = scope.take(1, X.cols());
  for (Index i = 0; i < X.rows(); ++i) {
    s = -X.row(i);
    kernels::exp(s.data(), s.data(), s.cols());
    s.array() = (s.array() + T(1)).inverse();
    dX.row(i).array() *= s.array() * (T(1) + X.row(i).array() * (T(1) - s.array()));
  }
}

template <class T>
T normal_distribution(T x) {
  return static_cast<T>(0.5 * (1 + std::erf(static_cast<double>(x * T(std::numbers::sqrt2 / 2)))));
}

/// a(x) and its derivative.
template <class T>
struct Activation {
  FlashActivation kind;
  // Mean and inverse deviation for which the normal distribution function is nearest to relu^2.
  static constexpr double kMean = std::numbers::sqrt2 / 2;
  static constexpr double kInverseDeviation = 2 / std::numbers::inv_sqrtpi;

  T value(const T& x) const {
    if (kind == FlashActivation::kSquaredRelu) return x > T(0) ? x * x : T(0);
    return normal_distribution((x - T(kMean)) * T(kInverseDeviation));
  }
  T slope(const T& x) const {
    if (kind == FlashActivation::kSquaredRelu) return x > T(0) ? x * T(2) : T(0);
    const T z = (x - T(kMean)) * T(kInverseDeviation);
    return T(kInverseDeviation * std::numbers::inv_sqrtpi / std::numbers::sqrt2) *
           std::exp(z * z * T(-0.5));
  }
};

// Number of buckets of distances. If keys before and after the query are visible, each side has
// half of them. Distances from kFarthest on share one bucket.
constexpr Index kBuckets = 32;
constexpr Index kFarthest = 128;

/// Returns the bucket of a distance from query to key. The first half of the buckets of a side have
/// one distance each; the bounds of the others have equal steps in the logarithm, and those at
/// powers of two are exact. [RSR+20]
Index bucket_of(Index distance, bool causal) {
  const Index buckets = causal ? kBuckets : kBuckets / 2;
  const Index first = !causal && distance > 0 ? buckets : 0;
  const Index size = causal ? std::max<Index>(-distance, 0) : std::abs(distance);
  const Index exact = buckets / 2;
  if (size < exact) return first + size;
  const auto start = static_cast<double>(exact);
  const double steps = std::log2(static_cast<double>(size) / start) /
                       std::log2(static_cast<double>(kFarthest) / start) *
                       static_cast<double>(buckets - exact);
  return first + std::min(exact + static_cast<Index>(steps), buckets - 1);
}

template <class T>
class Flash final : public Attention<T> {
 public:
  Flash(ParameterList& list,
        const std::string& prefix,
        const AttentionShape& shape,
        Index query_width,
        Index value_width,
        const FlashOptions& options)
      : shape_(shape),
        dropout_(shape),
        chunk_(options.chunk),
        relative_bias_(options.relative_bias),
        activation_{options.activation},
        shared_(list, prefix + ".shared", shape.width, query_width),
        gate_(list, prefix + ".gate", shape.width, value_width),
        value_(list, prefix + ".value", shape.width, value_width),
        output_(list, prefix + ".output", value_width, shape.width),
        scales_(list.add(prefix + ".scales", kCopies, query_width, Initial::normal(0.02))),
        shifts_(list.add(prefix + ".shifts", kCopies, query_width, Initial::constant(0))) {
    if (relative_bias_ == FlashBias::kToeplitz) {
      biases_ = list.add(
          prefix + ".relative_bias", 1, 2 * chunk_of(shape.length) - 1, Initial::normal(0.02));
    } else if (relative_bias_ == FlashBias::kBuckets) {
      biases_ = list.add(prefix + ".relative_bias", 1, kBuckets, Initial::normal(1));
      bias_factor_ = std::sqrt(static_cast<double>(query_width));
    }
  }

  Index width_out() const override { return shape_.width; }
  Index heads() const override { return 1; }

  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override {
    const Index n = X.rows();
    shape_.check_sample(n, X.cols());
    TokenMap<T> U = activate(context, gate_, X, kGateBefore, cache);
    TokenMap<T> V = activate(context, value_, X, kFlashValuesBefore, cache);
    clear_padding<T>(context.mask, V);
    TokenMap<T> H = cache.array(kMixed, n, V.cols());
    TokenMap<T> gated = cache.array(kGated, n, V.cols());
    mix(context, activate(context, shared_, X, kSharedBefore, cache), V, false, H);
    gated = U.cwiseProduct(H);
    output_.apply(context, gated, Y);
  }

  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override {
    const Index n = X.rows();
    const Index s = shared_.out();
    const Index e = value_.out();
    const TokenMap<T> Z = cache.array(kSharedAfter, n, s);
    const TokenMap<T> U = cache.array(kGateAfter, n, e);
    const TokenMap<T> V = cache.array(kFlashValues, n, e);
    const TokenMap<T> H = cache.array(kMixed, n, e);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> d_gated = scope.take(n, e);
    TokenMap<T> dH = scope.take(n, e);
    TokenMap<T> dZ = scope.take(n, s);
    TokenMap<T> dV = scope.take(n, e);
    output_.pull_back(context, cache.array(kGated, n, e), dY, d_gated, false);
    dH = d_gated.cwiseProduct(U);
    d_gated = d_gated.cwiseProduct(H);  // dU from here on
    mix_backward(context, Z, V, dH, dZ, dV);
    clear_padding<T>(context.mask, dV);
    silu_backward<T>(context, cache.array(kGateBefore, n, e), d_gated);
    silu_backward<T>(context, cache.array(kFlashValuesBefore, n, e), dV);
    silu_backward<T>(context, cache.array(kSharedBefore, n, s), dZ);
    gate_.pull_back(context, X, d_gated, dX, false);
    value_.pull_back(context, X, dV, dX, true);
    shared_.pull_back(context, X, dZ, dX, true);
  }

  void apply_map(Context<T> context, In<T> X, Index /*head*/, In<T> B, Out<T> Y, Cache<T>& cache)
      const override {
    shape_.check_sample(X.rows(), X.cols());
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> U = scope.take(B.rows(), B.cols());
    copy_tokens<T>(context.mask, B, U);
    mix(context, activate(context, shared_, X, kSharedBefore, cache), U, false, Y);
  }
  void apply_map_transpose(Context<T> context,
                           In<T> X,
                           Index /*head*/,
                           In<T> B,
                           Out<T> Y,
                           Cache<T>& cache) const override {
    shape_.check_sample(X.rows(), X.cols());
    mix(context, activate(context, shared_, X, kSharedBefore, cache), B, true, Y);
    clear_padding<T>(context.mask, Y);
  }

  AttentionCost cost(Index length) const override {
    const Index s = shared_.out();
    const Index e = value_.out();
    const Index g = chunk_ == 0 ? length : std::min(chunk_, length);
    const Index between = chunk_ == 0 ? 0 : 2 * s * e;
    return {length * (3 * shape_.width * e + shape_.width * s + g * (s + e) + between),
            length * (2 * s + 6 * e)};
  }

 private:
  /// Computes SiLU of a linear map of X. The cache stores the values before and after SiLU.
  TokenMap<T> activate(
      Context<T> context, const Linear<T>& map, In<T> X, Index slot, Cache<T>& cache) const {
    TokenMap<T> before = cache.array(slot, X.rows(), map.out());
    TokenMap<T> after = cache.array(slot + 1, X.rows(), map.out());
    map.apply(context, X, before);
    silu<T>(before, after);
    return after;
  }

  /// Computes a copy of Z, with its own scale and shift for each column.
  void copy(Context<T> context, FlashCopy which, In<T> Z, Out<T> to) const {
    const auto scale = context.value(scales_).row(which).array();
    const auto shift = context.value(shifts_).row(which).array();
    for (Index i = 0; i < Z.rows(); ++i) to.row(i).array() = Z.row(i).array() * scale + shift;
  }
  void copy_backward(Context<T> context, FlashCopy which, In<T> Z, In<T> d_copy, Out<T> dZ) const {
    const auto scale = context.value(scales_).row(which).array();
    TokenMap<T> d_scale = context.gradient_of(scales_);
    TokenMap<T> d_shift = context.gradient_of(shifts_);
    for (Index i = 0; i < Z.rows(); ++i) {
      dZ.row(i).array() += d_copy.row(i).array() * scale;
      d_scale.row(which).array() += d_copy.row(i).array() * Z.row(i).array();
      d_shift.row(which) += d_copy.row(i);
    }
  }

  Index chunk_of(Index n) const { return chunk_ == 0 ? n : std::min(chunk_, n); }
  static double count(Mask mask, Index n) {
    return static_cast<double>(std::max<Index>(count_tokens(mask, n), 1));
  }
  /// Factor of the local scores: 1 / g, or 1 / number of tokens if there are no chunks.
  double local_scale(Context<T> context, Index n) const {
    return 1 / (chunk_ == 0 ? count(context.mask, n) : static_cast<double>(chunk_));
  }

  /// H = E V, or H = E^T V if `transpose`.
  void mix(Context<T> context, In<T> Z, In<T> V, bool transpose, Out<T> H) const {
    const Index n = Z.rows();
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> Q = scope.take(n, Z.cols());
    TokenMap<T> K = scope.take(n, Z.cols());
    TokenMap<T> s_tile = scope.take(kRun, kRun);
    TokenMap<T> a_tile = scope.take(kRun, kRun);
    const TokenMap<T> bias = biases(context, n, scope);
    copy(context, kLocalQuery, Z, Q);
    copy(context, kLocalKey, Z, K);
    H.setZero();
    for_each_tile(n, [&](Index i, Index rows, Index j, Index cols) {
      Tokens<T> A = a_tile.topLeftCorner(rows, cols);
      local_scores(Q, i, K, j, local_scale(context, n), bias, s_tile.topLeftCorner(rows, cols), A);
      dropout_.apply<T>(context, 0, i, j, A);
      if (transpose) {
        multiply_transposed<T>(A, V.middleRows(i, rows), H.middleRows(j, cols), 1, true);
      } else {
        multiply<T>(A, V.middleRows(j, cols), H.middleRows(i, rows), 1, true);
      }
    });
    if (chunk_ == 0) return;
    copy(context, kGlobalQuery, Z, Q);
    copy(context, kGlobalKey, Z, K);
    const double scale = 1 / count(context.mask, n);
    if (transpose) {
      for_each_chunk(
          context, Order::kLastToFirst, Q, V, [&](Index i, Index rows, const TokenMap<T>& R) {
            multiply<T>(K.middleRows(i, rows), R, H.middleRows(i, rows), scale, true);
          });
    } else {
      for_each_chunk(
          context, Order::kFirstToLast, K, V, [&](Index i, Index rows, const TokenMap<T>& S) {
            multiply<T>(Q.middleRows(i, rows), S, H.middleRows(i, rows), scale, true);
          });
    }
  }

  /// Calls function(i, rows, j, cols) for the tiles of scores within chunks, up to the diagonal if
  /// causal.
  template <class Function>
  void for_each_tile(Index n, const Function& function) const {
    const Index g = chunk_of(n);
    for (Index first = 0; first < n; first += g) {
      const Index end = std::min(n, first + g);
      for (Index i = first; i < end; i += kRun) {
        for (Index j = first; j < (shape_.causal ? i + 1 : end); j += kRun)
          function(i, std::min(kRun, end - i), j, std::min(kRun, end - j));
      }
    }
  }
  /// Returns the index among the parameters of the bias of a distance from query to key.
  Index bias_of(Index distance) const {
    if (relative_bias_ == FlashBias::kBuckets) return bucket_of(distance, shape_.causal);
    return distance + biases_.cols / 2;
  }
  /// Returns b for the distances 1 - g .. g - 1 within chunks of g; no columns if there is no bias.
  TokenMap<T> biases(Context<T> context, Index n, typename Workspace<T>::Scope& scope) const {
    if (relative_bias_ == FlashBias::kNone) return scope.take(1, 0);
    const Index g = chunk_of(n);
    TokenMap<T> bias = scope.take(1, 2 * g - 1);
    for (Index distance = 1 - g; distance < g; ++distance)
      bias(0, distance + g - 1) = context.value(biases_)(0, bias_of(distance)) * T(bias_factor_);
    return bias;
  }
  void biases_backward(Context<T> context, const TokenMap<T>& d_bias) const {
    TokenMap<T> gradient = context.gradient_of(biases_);
    const Index farthest = d_bias.cols() / 2;
    for (Index distance = -farthest; distance <= farthest; ++distance)
      gradient(0, bias_of(distance)) += d_bias(0, distance + farthest) * T(bias_factor_);
  }

  /// S = scale Q_i K_j^T + b(j - i) of a tile; A = a(S), with 0 for keys that are hidden from the
  /// query.
  void local_scores(In<T> Q,
                    Index i,
                    In<T> K,
                    Index j,
                    double scale,
                    const TokenMap<T>& bias,
                    Out<T> S,
                    Out<T> A) const {
    multiply_by_transpose<T>(Q.middleRows(i, S.rows()), K.middleRows(j, S.cols()), S, scale);
    if (bias.cols() > 0) {
      for (Index row = 0; row < S.rows(); ++row)
        S.row(row) += bias.row(0).segment(j - i - row + bias.cols() / 2, S.cols());
    }
    for (Index a = 0; a < S.rows(); ++a) {
      for (Index b = 0; b < S.cols(); ++b)
        A(a, b) = hidden(i + a, j + b) ? T(0) : activation_.value(S(a, b));
    }
  }
  bool hidden(Index query, Index key) const { return shape_.causal && key > query; }

  enum class Order { kFirstToLast, kLastToFirst };
  /// Calls function(i, rows, S) for each chunk in the given order, where S = A^T B over all tokens
  /// or, if causal, over those of the chunks before it in this order.
  template <class Function>
  void for_each_chunk(
      Context<T> context, Order order, In<T> A, In<T> B, const Function& function) const {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> S = scope.take(A.cols(), B.cols());
    S.setZero();
    if (!shape_.causal) multiply_transposed<T>(A, B, S);
    const Index g = chunk_of(A.rows());
    const Index chunks = (A.rows() + g - 1) / g;
    for (Index c = 0; c < chunks; ++c) {
      const Index i = (order == Order::kFirstToLast ? c : chunks - 1 - c) * g;
      const Index rows = std::min(g, A.rows() - i);
      function(i, rows, S);
      if (shape_.causal)
        multiply_transposed<T>(A.middleRows(i, rows), B.middleRows(i, rows), S, 1, true);
    }
  }

  /// Sets dZ and dV from dH, the derivative with respect to E V.
  void mix_backward(Context<T> context, In<T> Z, In<T> V, In<T> dH, Out<T> dZ, Out<T> dV) const {
    const Index n = Z.rows();
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> Q = scope.take(n, Z.cols());
    TokenMap<T> K = scope.take(n, Z.cols());
    TokenMap<T> dQ = scope.take(n, Z.cols());
    TokenMap<T> dK = scope.take(n, Z.cols());
    TokenMap<T> s_tile = scope.take(kRun, kRun);
    TokenMap<T> a_tile = scope.take(kRun, kRun);
    const TokenMap<T> bias = biases(context, n, scope);
    TokenMap<T> d_bias = scope.take(1, bias.cols());
    d_bias.setZero();
    dZ.setZero();
    dV.setZero();
    dQ.setZero();
    dK.setZero();
    copy(context, kLocalQuery, Z, Q);
    copy(context, kLocalKey, Z, K);
    const double scale = local_scale(context, n);
    for_each_tile(n, [&](Index i, Index rows, Index j, Index cols) {
      Tokens<T> S = s_tile.topLeftCorner(rows, cols);
      Tokens<T> A = a_tile.topLeftCorner(rows, cols);
      local_scores(Q, i, K, j, scale, bias, S, A);
      dropout_.apply<T>(context, 0, i, j, A);
      multiply_transposed<T>(A, dH.middleRows(i, rows), dV.middleRows(j, cols), 1, true);
      multiply_by_transpose<T>(dH.middleRows(i, rows), V.middleRows(j, cols), A);
      dropout_.apply<T>(context, 0, i, j, A);
      for (Index a = 0; a < rows; ++a) {
        for (Index b = 0; b < cols; ++b)
          A(a, b) = hidden(i + a, j + b) ? T(0) : T(A(a, b) * activation_.slope(S(a, b)));
      }
      if (bias.cols() > 0) {
        for (Index row = 0; row < rows; ++row)
          d_bias.row(0).segment(j - i - row + bias.cols() / 2, cols) += A.row(row);
      }
      multiply<T>(A, K.middleRows(j, cols), dQ.middleRows(i, rows), scale, true);
      multiply_transposed<T>(A, Q.middleRows(i, rows), dK.middleRows(j, cols), scale, true);
    });
    copy_backward(context, kLocalQuery, Z, dQ, dZ);
    copy_backward(context, kLocalKey, Z, dK, dZ);
    if (bias.cols() > 0) biases_backward(context, d_bias);
    if (chunk_ == 0) return;
    copy(context, kGlobalQuery, Z, Q);
    copy(context, kGlobalKey, Z, K);
    const double share = 1 / count(context.mask, n);
    for_each_chunk(
        context, Order::kFirstToLast, K, V, [&](Index i, Index rows, const TokenMap<T>& S) {
          multiply_by_transpose<T>(dH.middleRows(i, rows), S, dQ.middleRows(i, rows), share);
        });
    for_each_chunk(
        context, Order::kLastToFirst, Q, dH, [&](Index i, Index rows, const TokenMap<T>& R) {
          multiply_by_transpose<T>(V.middleRows(i, rows), R, dK.middleRows(i, rows), share);
          multiply<T>(K.middleRows(i, rows), R, dV.middleRows(i, rows), share, true);
        });
    copy_backward(context, kGlobalQuery, Z, dQ, dZ);
    copy_backward(context, kGlobalKey, Z, dK, dZ);
  }

  AttentionShape shape_;
  ProbabilityDropout dropout_;
  Index chunk_;
  FlashBias relative_bias_;
  double bias_factor_ = 1;
  Activation<T> activation_;
  Linear<T> shared_;
  Linear<T> gate_;
  Linear<T> value_;
  Linear<T> output_;
  ParameterSlot scales_;
  ParameterSlot shifts_;
  ParameterSlot biases_;
};

}  // namespace

void FlashOptions::visit(OptionVisitor& v) {
  v.visit("query_width",
          query_width,
          "width s of queries and keys; 0: 128, at most the width of a token");
  v.visit("value_width",
          value_width,
          "width e of the gate and the values; 0: twice the width of a token");
  v.visit(
      "chunk", chunk, "number g of tokens per chunk, within which the activation applies; 0: all");
  v.visit_enum("activation", activation, "activation of the scores");
  v.visit_enum(
      "relative_bias",
      relative_bias,
      "learned bias of the scores within a chunk, for each distance or for buckets of distances");
}

template <class T>
std::unique_ptr<Attention<T>> flash(ParameterList& list,
                                    const std::string& prefix,
                                    const AttentionShape& shape,
                                    const FlashOptions& options) {
  shape.validate("flash", Probabilities::kFormed);
  require(shape.heads == 1, "flash: has one head, not {}", shape.heads);
  check_width("flash", "query_width", options.query_width, 0);
  check_width("flash", "value_width", options.value_width, 0);
  require(options.chunk >= 0, "flash: chunk {} is negative", options.chunk);
  constexpr Index kQueryWidth = 128;
  const Index s =
      options.query_width > 0 ? options.query_width : std::min(kQueryWidth, shape.width);
  const Index e = options.value_width > 0 ? options.value_width : 2 * shape.width;
  return std::make_unique<Flash<T>>(list, prefix, shape, s, e, options);
}

MATAPPROX_INSTANTIATE_MECHANISM(flash, FlashOptions);

}  // namespace matapprox::attention
