#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

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

}  // namespace matapprox::attention
