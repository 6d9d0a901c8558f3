#pragma once

#include <array>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class FlashActivation { kSquaredRelu, kLaplace };
enum class FlashBias { kNone, kToeplitz, kBuckets };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::FlashActivation> {
  static constexpr std::array<std::string_view, 2> values{"squared_relu", "laplace"};
};

template <>
struct EnumNames<attention::FlashBias> {
  static constexpr std::array<std::string_view, 3> values{"none", "toeplitz", "buckets"};
};

}  // namespace matapprox

namespace matapprox::attention {

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
