#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

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

}  // namespace matapprox::attention
