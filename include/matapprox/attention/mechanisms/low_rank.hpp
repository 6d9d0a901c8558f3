#pragma once

#include <array>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

// --------------------------------------------------------------------------------------- Linformer

enum class LinformerScope { kHead, kLayer, kModel };

struct LinformerOptions {
  Index rank = 64;                                ///< k, rows of E and F
  LinformerScope scope = LinformerScope::kLayer;  ///< scope that shares one pair E, F
  bool tied = false;                              ///< F = E
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Linformer: softmax attention on k mixtures of the tokens, H = softmax_rows(Q (E K)^T / sqrt(p))
/// (F V) with E and F k x N. [WLK+20, Eq. 7; Linformer report, Eq. 3]
///
/// E and F are trained, shared within `scope`; a shorter sequence uses their first N columns, a
/// longer one throws InvalidArgument. Padding is zeroed in K and V before the projection (report,
/// "masking"), which is exact for the linear map. The initial entries of E and F are N(0,
/// 1/length), so that E K has the magnitude of K; N(0, 1/k), as in the theorem, would make it
/// sqrt(N/k) times as large. (4 d^2 + 4 k d) N multiplications. Causal: no, E mixes all tokens.
template <class T>
std::unique_ptr<Attention<T>> linformer(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const LinformerOptions& options = {});

// ----------------------------------------------------------------------------- Revisited Linformer

enum class RevisitedAxes { kRowStochastic, kAsPrinted };
enum class RevisitedProjection { kLearned, kJl };

struct RevisitedLinformerOptions {
  Index rank = 64;  ///< k, rows of E and F
  RevisitedAxes axes = RevisitedAxes::kRowStochastic;
  RevisitedProjection projection = RevisitedProjection::kLearned;
  double delta = 0;  ///< for `jl`: E = delta R, F = exp(-delta) R; 0: 2^-length, as in the paper
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Revisited Linformer: H = softmax(Q / sqrt(p)) (softmax((E K)^T / sqrt(p)) (F V)), E and F k x N.
/// [Ver20, Sec. 3.2]
///
/// The order of the products gives 2 N p d + 2 N k d multiplications besides the projections (the
/// paper's count omits E K and F V). The paper does not state over which axis each softmax runs:
/// its D_A, the sums of columns, implies queries over tokens and keys over features (`as_printed`).
/// If queries are over features and keys over the k mixtures, E is row-stochastic except for F
/// (`row_stochastic`), and E = F = I then gives scaled efficient attention. E and F are learned
/// from N(0, 1/length), or both are multiples of one fixed R with entries N(0, 1/k), an untrained
/// parameter. With the paper's delta the scores vanish, and each row of E is the mean of the rows
/// of R. R^T R in place of the identity has the relative error sqrt(n / k). Padding is zeroed in K
/// and V before the projection. Causal: no.
template <class T>
std::unique_ptr<Attention<T>> revisited_linformer(ParameterList& list,
                                                  const std::string& prefix,
                                                  const AttentionShape& shape,
                                                  const RevisitedLinformerOptions& options = {});

// ----------------------------------------------------------------------------------- Nystromformer

struct NystromformerOptions {
  Index landmarks = 64;    ///< L, at most the number of rows
  Index convolution = 33;  ///< width, odd, of the depthwise convolution of the values; 0: none
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Nystromformer: E = F1 Z F3 (+ convolution), F1 = softmax(Q Kl^T / sqrt(p)), F3 = softmax(Ql K^T
/// / sqrt(p)), Z six steps of a third-order iteration towards the pseudo-inverse of A = softmax(Ql
/// Kl^T / sqrt(p)); Ql, Kl the means of L runs of tokens. [XZC+21, Eqs. 13-15]
///
/// An exact pseudo-inverse must not replace the steps: A has a condition number of 10^5, and early
/// stopping regularizes it. Z starts from A^T over the largest column sum of this one matrix (the
/// published code takes the largest of the whole batch, so that a result depends on the other
/// samples). Runs consist of rows, including padding; means are over the tokens of a run, and zero
/// if it has none. The convolution adds sum_t c_t v_{i+t-w/2} to row i, with c a parameter of each
/// head. 4 N L d multiplications and 24 L^3 per head, plus 4 d^2 N. Attention dropout acts on F1
/// and F3, with separate masks, but not on A, from which Z is computed. Causal: no, landmarks
/// contain later tokens.
template <class T>
std::unique_ptr<Attention<T>> nystromformer(ParameterList& list,
                                            const std::string& prefix,
                                            const AttentionShape& shape,
                                            const NystromformerOptions& options = {});

// ---------------------------------------------------------------------------------- Singularformer

enum class SingularformerDiagonalLoss { kPrinted, kCode };
enum class SingularformerLayerWeights { kEqual, kCode };

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

namespace matapprox {

template <>
struct EnumNames<attention::LinformerScope> {
  static constexpr std::array<std::string_view, 3> values{"head", "layer", "model"};
};

template <>
struct EnumNames<attention::RevisitedAxes> {
  static constexpr std::array<std::string_view, 2> values{"row_stochastic", "as_printed"};
};

template <>
struct EnumNames<attention::RevisitedProjection> {
  static constexpr std::array<std::string_view, 2> values{"learned", "jl"};
};

template <>
struct EnumNames<attention::SingularformerDiagonalLoss> {
  static constexpr std::array<std::string_view, 2> values{"printed", "code"};
};

template <>
struct EnumNames<attention::SingularformerLayerWeights> {
  static constexpr std::array<std::string_view, 2> values{"equal", "code"};
};

}  // namespace matapprox
