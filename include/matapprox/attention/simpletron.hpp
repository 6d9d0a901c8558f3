#pragma once

#include <array>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class SimpletronScale { kNone, kInverseSqrtLength, kInverseLength };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::SimpletronScale> {
  static constexpr std::array<std::string_view, 3> values{"none", "inv_sqrt_n", "inv_n"};
};

}  // namespace matapprox

namespace matapprox::attention {

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

}  // namespace matapprox::attention
