#pragma once

#include <array>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

/// Sets each number to 0 with probability `rate`, else divides it by 1 - rate; has no effect
/// outside training. [SHK+14]
///
/// The choice is drawn from counters (LayerContext::random, the number of this layer, the
/// position), so nothing is stored: the backward pass is the same multiplication again.
template <class T>
class Dropout {
 public:
  /// `number` distinguishes the dropouts of a model. Throws InvalidArgument unless 0 <= rate < 1.
  Dropout(double rate, Index number);
  void apply(const LayerContext<T>& context, Tokens<T> X) const;

 private:
  double rate_;
  Index number_;
};

/// Dropout of attention probabilities: with a mask M whose entries are 0 with probability
/// attention_dropout and 1 / (1 - attention_dropout) otherwise, P o M replaces P = softmax(S) in
/// training. Rows are not renormalized, as in [VSP+17].
///
/// M is a function of (LayerContext::random, layer, head, row, column) and is never stored: a
/// mechanism requests any part of it, in tiles of any size, and again in the backward pass. In H =
/// (P o M) V with dP = (dH V^T) o M, apply() computes both products with M:
///
///   forward     P = softmax(S);  apply(.., P);  H = P V
///   backward    dV = P^T dH with P after dropout;  dP = dH V^T;  apply(.., dP);
///               dS = P o (dP - <P, dP>) with P before dropout
///
/// where <P, dP> of row i is also <H_i, dH_i>. A mechanism that uses this class passes
/// Probabilities::kFormed to AttentionShape::validate; the others refuse a rate above 0.
class ProbabilityDropout {
 public:
  /// Uses the rate and the layer of a validated shape.
  explicit ProbabilityDropout(const AttentionShape& shape);
  double rate() const { return rate_; }
  /// True if apply() has an effect: in training, at a rate above 0.
  template <class T>
  bool acts(const LayerContext<T>& context) const {
    return context.training && rate_ > 0;
  }
  /// Replaces P by P o M, for a part P of the head's matrix whose first entry is in `row` and
  /// `column` of that matrix. `site`, 0..255, distinguishes several matrices of one head. Columns
  /// are counted in the whole matrix: a part that begins at a multiple of 64 is fastest.
  template <class T>
  void apply(const LayerContext<T>& context,
             Index head,
             Index row,
             Index column,
             Tokens<T> P,
             Index site = 0) const;
  /// The same decisions as bits, for kernels: bit c of words[r] is set if the entry in row `row +
  /// r` and column `column + c` is kept, for r < rows and c < 64.
  template <class T>
  void keep_words(const LayerContext<T>& context,
                  Index head,
                  Index row,
                  Index rows,
                  Index column,
                  std::uint64_t* words,
                  Index site = 0) const {
    keep_words_of(context.random, head, row, rows, column, words, site);
  }

 private:
  void keep_words_of(const RandomKey& random,
                     Index head,
                     Index row,
                     Index rows,
                     Index column,
                     std::uint64_t* words,
                     Index site) const;

  double rate_;
  Index layer_;
};

enum class BlockKind { kPostNorm, kPreNorm, kBare };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::BlockKind> {
  static constexpr std::array<std::string_view, 3> values{"post_norm", "pre_norm", "bare"};
};

}  // namespace matapprox

namespace matapprox::attention {

struct BlockOptions {
  BlockKind kind = BlockKind::kPostNorm;
  Index feed_forward = 4;                             ///< hidden width of F over d; 0: no F
  double dropout = 0;                                 ///< dropout rate of A and of F
  bool inner_skip = false;                            ///< A(X) + X in place of A(X)
  bool outer_skip = false;                            ///< X is added to the block's result
  double norm_epsilon = LayerNorm<double>::kEpsilon;  ///< added to the variances of norms
  void visit(OptionVisitor& v);
};

/// An attention layer A with its norms, skip connections and feed-forward layer, N x d to N x d
/// (`bare`: to N x width_out):
///   post_norm   Z = LN1(X + A(X)),  Y = LN2(Z + F(Z))            [VSP+17]
///   pre_norm    Z = X + A(LN1(X)),  Y = Z + F(LN2(Z))            [XYH+20]
///   bare        Y = A(X)
/// F is a FeedForward; dropout acts on A and F. A post_norm block with the mechanism's option
/// residual_scores is a Realformer block [HRKA21]. SimpleTRON's blocks with another skip connection
/// are post_norm with outer_skip: the paper has no formula, and this is one interpretation;
/// inner_skip is the other one. Parameters PREFIX.norm1, .norm2, .feed_forward.
template <class T>
class Block final : public Layer<T> {
 public:
  /// `number` counts the blocks of a model from 0. Throws InvalidArgument if the attention's output
  /// width differs from the token width, unless bare.
  Block(ParameterList& list,
        const std::string& prefix,
        std::unique_ptr<Attention<T>> attention,
        Index width,
        Index number,
        const BlockOptions& options);
  Index width_out() const { return attention_->width_out(); }
  const Attention<T>& attention() const { return *attention_; }
  void forward(const LayerContext<T>& context,
               const ConstTokens<T>& X,
               Tokens<T> Y,
               Cache<T>& cache) const override;
  void backward(const LayerContext<T>& context,
                const ConstTokens<T>& X,
                const ConstTokens<T>& dY,
                Tokens<T> dX,
                Cache<T>& cache) const override;
  /// Input of the attention layer in the forward pass that filled the cache, and its cache.
  ConstTokens<T> attention_input(const ConstTokens<T>& X, Cache<T>& cache) const;
  static Cache<T>& attention_cache(Cache<T>& cache) { return cache.child(0); }

 private:
  void forward_post(const LayerContext<T>& context,
                    const ConstTokens<T>& X,
                    Tokens<T> Y,
                    Cache<T>& c) const;
  void forward_pre(const LayerContext<T>& context,
                   const ConstTokens<T>& X,
                   Tokens<T> Y,
                   Cache<T>& c) const;
  void backward_post(const LayerContext<T>& context,
                     const ConstTokens<T>& X,
                     const ConstTokens<T>& dY,
                     Tokens<T> dX,
                     Cache<T>& cache) const;
  void backward_pre(const LayerContext<T>& context,
                    const ConstTokens<T>& X,
                    const ConstTokens<T>& dY,
                    Tokens<T> dX,
                    Cache<T>& cache) const;
  /// Y = A(X) with dropout, and its backward pass.
  void attend(const LayerContext<T>& context,
              const ConstTokens<T>& X,
              Tokens<T> Y,
              Cache<T>& cache) const;
  void attend_backward(const LayerContext<T>& context,
                       const ConstTokens<T>& X,
                       Tokens<T> dA,
                       Tokens<T> dX,
                       Cache<T>& cache) const;

  BlockOptions options_;
  std::unique_ptr<Attention<T>> attention_;
  Dropout<T> attention_dropout_;
  Dropout<T> feed_forward_dropout_;
  std::unique_ptr<LayerNorm<T>> norm1_;  ///< null if bare
  std::unique_ptr<LayerNorm<T>> norm2_;  ///< null without F
  std::unique_ptr<FeedForward<T>> feed_forward_;
};

}  // namespace matapprox::attention
