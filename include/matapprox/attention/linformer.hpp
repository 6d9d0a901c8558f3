#pragma once

#include <array>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

enum class LinformerScope { kHead, kLayer, kModel };

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::LinformerScope> {
  static constexpr std::array<std::string_view, 3> values{"head", "layer", "model"};
};

}  // namespace matapprox

namespace matapprox::attention {

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

}  // namespace matapprox::attention
