#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

struct TokenwiseOptions {
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Baseline that mixes nothing: E = I, out = V W_O. A task that a model with it solves needs no
/// attention. Causal: yes.
template <class T>
std::unique_ptr<Attention<T>> tokenwise(ParameterList& list,
                                        const std::string& prefix,
                                        const AttentionShape& shape,
                                        const TokenwiseOptions& options = {});

struct MeanOptions {
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Baseline that mixes evenly: each row of E is the mean over the tokens (over tokens 0..i if
/// causal). Queries and keys are not used.
template <class T>
std::unique_ptr<Attention<T>> mean(ParameterList& list,
                                   const std::string& prefix,
                                   const AttentionShape& shape,
                                   const MeanOptions& options = {});

}  // namespace matapprox::attention
