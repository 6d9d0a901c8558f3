#pragma once

#include <array>

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::attention {

enum class PsfStart { kFanIn, kUnitRow, kIdentity };

struct PsfOptions {
  ChordLinks pattern = ChordLinks::kReference;
  Index value_width = 0;  ///< c, columns of V; 0: the width d
  Index hidden = 0;       ///< width of the networks for W_m and V; 0: the width d
  bool residual = true;   ///< V_m = W_m V_{m-1} + V_0
  PsfStart start = PsfStart::kFanIn;
  void visit(OptionVisitor& v);
};

/// PSF-Attn: attention as a product of sparse factors that networks compute from the tokens, V_m =
/// W_m V_{m-1} (+ V_0), m = 1..M, V_0 = g(X), row i of W_m = f_m(x_i). [KYCY22, Sec. 4]
///
/// W_m is N x N with the Chord links of `pattern` for the current length N, so one head reaches all
/// distances with M K N numbers; f_m and g are Linear - GELU - Linear. The product is W_M ... W_1,
/// as in the public code (the paper's Eq. 2 has the other order). The effective matrix is E = W_M
/// ... W_1, with the residual E_m = W_m E_{m-1} + I. The pattern depends on the length: a sequence
/// of another length than `shape.length` uses the first links and factors of the networks, as many
/// as its own pattern has. `torch`: M = floor(log2 N), links 0, 2^0 .. 2^(M-1), as in the published
/// module; it misses distances unless N is a power of two. Start: as published (`fan_in`; without
/// the residual, V then shrinks by 10^3 at N = 128), rows of W with variance 1/K (`unit_row`), or
/// the link of a row to itself at 1 (`identity`). Padding: rows of V_0 are zeroed and rows of W_m
/// replaced by those of the identity. Multiplications: N ((M + 1) d hid + M hid K + hid c + M K c).
/// Output width c, one head. Causal: no, links lead around the ring.
template <class T>
std::unique_ptr<Attention<T>> psf(ParameterList& list,
                                  const std::string& prefix,
                                  const AttentionShape& shape,
                                  const PsfOptions& options = {});

}  // namespace matapprox::attention

namespace matapprox {

template <>
struct EnumNames<attention::PsfStart> {
  static constexpr std::array<std::string_view, 3> values{"fan_in", "unit_row", "identity"};
};

}  // namespace matapprox
