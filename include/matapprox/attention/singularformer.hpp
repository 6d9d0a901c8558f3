#pragma once

#include <array>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class SingularformerDiagonalLoss { kPrinted, kCode };
enum class SingularformerLayerWeights { kEqual, kCode };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::SingularformerDiagonalLoss> {
  static constexpr std::array<std::string_view, 2> values{"printed", "code"};
};

template <>
struct EnumNames<attention::SingularformerLayerWeights> {
  static constexpr std::array<std::string_view, 2> values{"equal", "code"};
};

}  // namespace matapprox

namespace matapprox::attention {

struct SingularformerOptions {
  Index rank = 0;                   ///< r, number of token mixtures; 0: the width p of a head
  bool residual_scores = true;      ///< add the scores of the layer below to those of this one
  bool shared_mixtures = true;      ///< f_U = f_Q = f_K = f_V (Eq. 14); else four maps
  bool scaled = true;               ///< divide scores by sqrt(p); Eq. 9 does not
  double orthogonal_weight = 0.01;  ///< gamma_1
  double diagonal_weight = 0.01;    ///< gamma_2
  SingularformerDiagonalLoss diagonal_loss = SingularformerDiagonalLoss::kPrinted;
  SingularformerLayerWeights layer_weights = SingularformerLayerWeights::kEqual;
  void visit(OptionVisitor& v);
};

/// Singularformer: E = alpha A' alphahat, alpha (N x r) the softmax of X W_a + b_a over its
/// columns, alphahat (r x N) that of its transpose over the tokens, and A' = softmax_rows((alphahat
/// Q) (alphahat K)^T / sqrt(p)) for each head. [WKZL23, Eqs. 8-14, 18]
///
/// The printed scores have no factor 1/sqrt(p), the public code has one: `scaled`. Rows of alpha
/// and alphahat sum to one, so X is pooled once to X' = alphahat X, whose r rows are projected,
/// attended to and multiplied by W_O, and expanded once: 3 r d N + 4 r d^2 + 2 r^2 d
/// multiplications, as in Table 1. All heads share W_a. Without `shared_mixtures`, alpha is
/// computed by f_U, and queries, keys and values are pooled by f_Q, f_K and f_V (parameters
/// PREFIX.mixture, .mixture_query, .mixture_key, .mixture_value): 8 r d N instead of 3 r d N; the
/// losses are those of alpha_U and alpha_V. E is row-stochastic of rank <= r: a learned model, not
/// a singular value decomposition (softmax attention has full rank, and nonnegative columns are
/// orthogonal only if their supports are disjoint).
///
/// Auxiliary losses, each the mean over `layers`: gamma_1 / r^2 times the squared off-diagonal
/// entries of alpha^T alpha and alphahat alphahat^T (Eq. 15, which has alpha_V transposed), and
/// gamma_2 / r^2 times the squared off-diagonal entries of A' (Eq. 16), the mean over heads; the
/// public code sums the entries of A' themselves (`code`). That code also accumulates its layers in
/// place, so that in the mean over L layers, layer l = 0 .. L - 1 counts 2^(L - max(l, 1)) times:
/// `layer_weights` `code`. With `residual_scores` the scores of a layer are the sum of its own and
/// those of all layers below, h r^2 numbers per layer. [HRKA21] Initial weights are those of the
/// public code: truncated normal with standard deviation 0.02, biases 0. Attention dropout acts on
/// A'; the losses use A' before dropout. Causal: no, each mixture contains all tokens.
template <class T>
std::unique_ptr<Attention<T>> singularformer(ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const SingularformerOptions& options = {});

}  // namespace matapprox::attention
