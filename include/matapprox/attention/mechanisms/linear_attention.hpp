#pragma once

#include <array>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/attention/options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

// ----------------------------------------------------------------------------- Efficient attention

struct EfficientOptions {
  bool scaled = false;  ///< first divide queries and keys by p^(1/2); not in the paper
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Efficient attention: H = rho_q(Q) (rho_k(K)^T V), rho_q the softmax over the features of each
/// query, rho_k the softmax over the tokens of each feature. [SZZY21]
///
/// E = rho_q(Q) rho_k(K)^T is row-stochastic and has rank <= p. 2 N p d + 4 d^2 N multiplications.
/// Causal: no, each feature is normalized over all tokens.
template <class T>
std::unique_ptr<Attention<T>> efficient(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const EfficientOptions& options = {});

// ------------------------------------------------------------------------------ Linear Transformer

struct LinearTransformerOptions {
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Linear Transformer: E_ij = phi(q_i)^T phi(k_j) / sum_j phi(q_i)^T phi(k_j), phi(x) = elu(x) + 1.
/// [KVPF20] No 1/sqrt(p); 1e-6 is added to the sum, so that a row without tokens gives zero. 2 N p
/// d + 4 d^2 N multiplications. Causal: yes.
template <class T>
std::unique_ptr<Attention<T>> linear_transformer(ParameterList& list,
                                                 const std::string& prefix,
                                                 const AttentionShape& shape,
                                                 const LinearTransformerOptions& options = {});

// --------------------------------------------------------------------------------------- Performer

struct PerformerOptions {
  Index features = 0;  ///< D; 0: floor(p ln p), at least 1
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Returns D for a head of this width.
Index performer_features(const PerformerOptions& options, Index head_width);

/// Performer, FAVOR+: softmax attention in expectation over random features, phi(x) = D^-1/2
/// (exp(Omega x - |x|^2 / 2 - s) + 1e-4), x = q p^-1/4 or k p^-1/4. [CLD+21]
///
/// Omega (D x p) is drawn once, in orthogonal blocks whose rows have the norms of normal vectors.
/// It is an untrained parameter, PREFIX.omega, so that it is saved with the state. s is the largest
/// exponent, of a row for queries, of all tokens for keys; gradients include its derivative. As an
/// approximation of one softmax matrix it is poor (relative error 1.5 .. 2.3 for p = 32 and unit
/// tokens); without the 1e-4 it is unbiased. 2 N D d + 4 d^2 N multiplications. Causal: no, s of
/// the keys is taken over all tokens.
template <class T>
std::unique_ptr<Attention<T>> performer(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const PerformerOptions& options = {});

// -------------------------------------------------------------------------------------- SimpleTRON

struct SimpletronOptions {
  SimpletronScale scale = SimpletronScale::kInverseSqrtLength;  ///< N: the number of tokens
  bool output_projection = false;  ///< true: the variant with an output layer, `simple_resl`
  void visit(OptionVisitor& v);
};

/// SimpleTRON: attention without softmax, H = Q (K^T V) / sqrt(N), in linear time by the order of
/// the products. [YKV+21]
///
/// H is a polynomial of degree three in the tokens, and the effective matrix has rank <= p: a
/// different layer from softmax attention, not an approximation of it. The output grows as sqrt(N)
/// with the paper's scale and remains of the same magnitude with `inv_n`. The variants `simple_res`
/// and `simple_resl` add a skip connection around the whole block, which Block implements.
/// Multiplications: 2 N p d + 3 d^2 N. Causal: yes (N remains the total number of tokens).
template <class T>
std::unique_ptr<Attention<T>> simpletron(ParameterList& list,
                                         const std::string& prefix,
                                         const AttentionShape& shape,
                                         const SimpletronOptions& options = {});

// ------------------------------------------------------------------------------------------- FLASH

enum class FlashActivation { kSquaredRelu, kLaplace };
enum class FlashBias { kNone, kToeplitz, kBuckets };

struct FlashOptions {
  Index query_width = 0;  ///< s, width of queries and keys; 0: 128, at most d
  Index value_width = 0;  ///< e, width of the gate and the values; 0: 2 d
  Index chunk = 256;      ///< g, tokens that interact through the activation; 0: all N
  FlashActivation activation = FlashActivation::kSquaredRelu;
  FlashBias relative_bias = FlashBias::kNone;  ///< added to the scores within a chunk
  void visit(OptionVisitor& v);
};

/// FLASH, the gated attention unit: out = (U o (E V)) W_o, U, V = SiLU(X W_u), SiLU(X W_v) (N x e),
/// Z = SiLU(X W_z) (N x s), with queries and keys scaled and shifted copies of Z. [HDLL22]
///
/// Chunks of g tokens give E = a(Q K^T / g) within a chunk, plus Ql Kl^T / N between all tokens,
/// where Ql and Kl are a second pair of copies. With `chunk` 0, E = a(Q K^T / N). a is relu^2, or
/// the Laplace distribution function of [MZK+23], which published comparisons use. One head, no
/// softmax: padding is zeroed in V, and N is the number of tokens. N (3 d e + d s + g (s + e) + 2 s
/// e) multiplications. Attention dropout acts within chunks, on a(..). Causal: yes, between chunks
/// only the earlier ones count.
///
/// `relative_bias` adds a learned number b(j - i) to the scores within a chunk after their division
/// (parameter PREFIX.relative_bias). `toeplitz`: one number per distance, normal with standard
/// deviation 0.02 [HDLL22, Code 1]. `buckets`: sqrt(s) times one number per bucket of distances,
/// standard normal; of the 32 buckets, those near the query have one distance each, those further
/// away are wider, and one holds all distances from 128 on [RSR+20], as in the public code that
/// published comparisons use.
template <class T>
std::unique_ptr<Attention<T>> flash(ParameterList& list,
                                    const std::string& prefix,
                                    const AttentionShape& shape,
                                    const FlashOptions& options = {});

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::SimpletronScale> {
  static constexpr std::array<std::string_view, 3> values{"none", "inv_sqrt_n", "inv_n"};
};

template <>
struct EnumNames<attention::FlashActivation> {
  static constexpr std::array<std::string_view, 2> values{"squared_relu", "laplace"};
};

template <>
struct EnumNames<attention::FlashBias> {
  static constexpr std::array<std::string_view, 3> values{"none", "toeplitz", "buckets"};
};

}  // namespace matapprox
