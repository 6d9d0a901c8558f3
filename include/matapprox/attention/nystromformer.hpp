#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

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

}  // namespace matapprox::attention
