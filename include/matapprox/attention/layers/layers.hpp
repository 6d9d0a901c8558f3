#pragma once

#include <array>
#include <memory>
#include <span>

#include "matapprox/attention/layers/parameters.hpp"
#include "matapprox/attention/layers/workspace.hpp"
#include "matapprox/attention/options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

// ------------------------------------------------------------------------------ Context of a layer

/// Key of the random numbers for dropout: whether a number is dropped depends only on (seed,
/// sample, layer, position), not on the thread count.
struct RandomKey {
  std::uint64_t seed = 1;
  Index sample = 0;  ///< running number since the start of training
};

/// Data for a layer's work on one sample.
template <class T>
struct LayerContext {
  const T* parameters = nullptr;  ///< the block of all parameters
  T* gradient = nullptr;          ///< same layout; backward passes add to it
  Mask mask = {};                 ///< marks the rows, of N, that are tokens
  bool training = false;          ///< dropout acts
  RandomKey random = {};
  Workspace<T>* workspace = nullptr;  ///< one per thread
  /// Forward passes add their weighted auxiliary losses here; null: they are not computed. Backward
  /// passes add the gradient of these losses times auxiliary_weight.
  T* auxiliary = nullptr;
  double auxiliary_weight = 0;
  /// Values that attention layers pass on to those above them, a slice of
  /// Attention::residual_score_count() numbers for each of shape.layers, and their gradient of the
  /// same size, which is zero before the first backward pass. Null: this layer is used alone.
  T* residual_scores = nullptr;
  T* residual_scores_gradient = nullptr;

  ConstTokenMap<T> value(const ParameterSlot& p) const {
    return {parameters + p.offset, p.rows, p.cols};
  }
  TokenMap<T> gradient_of(const ParameterSlot& p) const {
    return {gradient + p.offset, p.rows, p.cols};
  }
};

/// The type of a parameter.
template <class T>
using Context = const LayerContext<T>&;

// ------------------------------------------------------------------------------------------ Layers

/// A differentiable function of a token matrix: X (N x width_in) to Y (N x width_out). T is float
/// or double.
///
/// A layer holds no numbers, so that one object serves any number of threads: parameters are passed
/// with each call, and the cache keeps what the backward pass needs from the forward pass. An
/// attention layer throws InvalidArgument for a sample that does not fit; other layers do not
/// check.
template <class T>
class Layer {
 public:
  virtual ~Layer() = default;
  virtual void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const = 0;
  /// The vector-Jacobian product: dX = (dY/dX)^T dY (set, not added to), and the parameters' part
  /// added to context.gradient. X is that of the forward pass that filled the cache.
  virtual void backward(
      Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const = 0;
};

/// Initial distributions of the weights and the bias of a linear map of `in` inputs.
struct LinearStart {
  Initial weight;
  Initial bias;
  /// Both uniform in +- 1/sqrt(in): the default in most published code.
  static LinearStart fan_in(Index in);
  /// Truncated normal of standard deviation 0.02, bias 0. [KYCY22, public code]
  static LinearStart narrow();
};

/// Y = X W + 1 b^T, W in x out. Parameters NAME.weight and NAME.bias.
template <class T>
class Linear final : public Layer<T> {
 public:
  Linear(ParameterList& list,
         const std::string& name,
         Index in,
         Index out,
         const LinearStart& start,
         bool bias = true);
  Linear(ParameterList& list, const std::string& name, Index in, Index out)
      : Linear(list, name, in, out, LinearStart::fan_in(in)) {}
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override;
  /// The same without a cache, which this layer does not need. If `add`, the result is added to dX.
  void apply(Context<T> context, In<T> X, Out<T> Y) const;
  void pull_back(Context<T> context, In<T> X, In<T> dY, Out<T> dX, bool add) const;
  /// Y = X W + s b^T, where row i of X is a weighted sum of rows with weights that sum to s_i.
  void apply_to_mixtures(Context<T> context, In<T> X, In<T> sums, Out<T> Y) const;
  /// Sets dX and the gradient of s.
  void pull_back_mixtures(
      Context<T> context, In<T> X, In<T> sums, In<T> dY, Out<T> dX, Out<T> d_sums) const;
  Index in() const { return weight_.rows; }
  Index out() const { return weight_.cols; }
  /// Multiplications for N rows.
  Index cost(Index length) const { return length * in() * out(); }

 private:
  ParameterSlot weight_;
  ParameterSlot bias_;
  bool has_bias_;
};

/// Each row less its mean, divided by its standard deviation sqrt(variance + epsilon), times a
/// weight plus a bias per column (NAME.weight, NAME.bias). [BKH16]
template <class T>
class LayerNorm final : public Layer<T> {
 public:
  /// Throws InvalidArgument unless epsilon is a positive number.
  LayerNorm(ParameterList& list,
            const std::string& name,
            Index width,
            double epsilon = kNormEpsilon);
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override;

 private:
  ParameterSlot weight_;
  ParameterSlot bias_;
  double epsilon_;
};

/// Y = GELU(X W_1 + b_1) W_2 + b_2, token by token, in -> hidden -> out. Parameters NAME.hidden and
/// NAME.output. The backward pass needs the hidden layer and GELU's derivative there (2 N x hidden
/// numbers).
template <class T>
class FeedForward final : public Layer<T> {
 public:
  FeedForward(ParameterList& list, const std::string& name, Index in, Index hidden, Index out);
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override;

 private:
  Linear<T> hidden_;
  Linear<T> output_;
};

// --------------------------------------------------------------------------------------- Embedding

/// Content of a sequence: N token ids, or N x features numbers; the other is empty.
struct Sequence {
  std::span<const std::int32_t> tokens;
  std::span<const float> features;
};

/// The first layer of a model: X (N x d) from token ids (rows of a table, parameter PREFIX.token)
/// or from features (a linear map, PREFIX.feature), plus a vector for each position: learned
/// (PREFIX.position, length x d, normal) or sines and cosines, row i column 2 j: sin(i
/// 10000^(-2j/d)), column 2 j + 1 its cosine [VSP+17, Sec. 3.5]. Rows of padding are 0.
///
/// Like BERT [DCLT19], with `cls_token` row 0 is a learned vector (PREFIX.cls), which is never
/// padding; X then has one row more than the sequence, and positions count from it. With
/// `segments`, the row of PREFIX.segment of a token's segment is added to the token: the first
/// segment until the token `segment_separator` ends it, and so on to the last.
template <class T>
class Embedding {
 public:
  /// Either `vocabulary` or `features` is positive.
  Embedding(ParameterList& list,
            const std::string& prefix,
            Index width,
            Index length,
            Index vocabulary,
            Index features,
            const EmbeddingOptions& options);
  /// Returns the number of rows of X for a sequence: N, or N + 1 with a cls_token. Throws
  /// InvalidArgument if the sequence does not fit: no tokens, more than `length`, a token id beyond
  /// the vocabulary.
  Index check(const Sequence& sequence, Mask mask) const;
  /// context.mask is the mask of the rows of X.
  void forward(Context<T> context, const Sequence& sequence, Out<T> X) const;
  void backward(Context<T> context, const Sequence& sequence, In<T> dX) const;

 private:
  /// Calls function(row, segment) for each row of X.
  template <class Function>
  void for_each_segment(const Sequence& sequence, Index rows, const Function& function) const;

  Index length_;
  Index vocabulary_;
  Index features_;
  Index first_;  ///< row of the first token: 1 after a cls_token, else 0
  Index segment_separator_;
  ParameterSlot token_;
  ParameterSlot cls_;
  ParameterSlot segment_;
  std::unique_ptr<Linear<T>> feature_;
  ParameterSlot position_;
  bool has_position_ = false;
  TokenMatrix<double> position_encoding_;  ///< sinusoidal positions, else empty
};

// ----------------------------------------------------------------------------------------- Pooling

/// Reduces all tokens to one row: all rows one after the other (`flatten`, which ties a model to
/// one N), row 0 (`cls`), the mean or the maximum of each column over the tokens, these two side by
/// side (`max_mean`); or leaves the rows unchanged (`none`). Padding counts as 0 in `flatten` and
/// is ignored elsewhere; without any token the result is 0.
template <class T>
class Pooling {
 public:
  /// For tokens of that width; `flatten` requires N = length.
  Pooling(Pool pool, Index width, Index length);
  Index width_out() const;
  Index rows_out(Index length) const { return pool_ == Pool::kNone ? length : 1; }
  /// Throws InvalidArgument for another N with `flatten`.
  void forward(Context<T> context, In<T> X, Out<T> Y) const;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX) const;

 private:
  Pool pool_;
  Index width_;
  Index length_;
};

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::Positions> {
  static constexpr std::array<std::string_view, 3> values{"none", "learned", "sinusoidal"};
};

template <>
struct EnumNames<attention::Pool> {
  static constexpr std::array<std::string_view, 6> values{
      "flatten", "cls", "mean", "max", "max_mean", "none"};
};

}  // namespace matapprox
