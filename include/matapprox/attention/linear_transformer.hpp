#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

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

}  // namespace matapprox::attention
