#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

struct SoftmaxOptions {
  bool residual_scores = false;  ///< add the scores of the layers below to those of this one
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Softmax attention, E = softmax_rows(Q K^T / sqrt(p)). [VSP+17, Eq. 1]
///
/// Each block of queries processes one block of keys after the other with a running maximum and
/// sum, and the backward pass recomputes the entries from the saved logarithms of the sums: O(N d)
/// memory, no N x N array. [RS21; DFE+22] A row whose keys are all masked gives 0. 2 d N^2 + 4 d^2
/// N multiplications; parameters 4 d^2 + 4 d. Causal: yes.
///
/// `residual_scores` makes it Realformer: S_l = Q_l K_l^T / sqrt(p) + S_{l-1}. [HRKA21] This
/// forms no N x N array either: queries and keys of all layers so far are side by side, N x 2 d
/// numbers per layer, with (l + 2) d N^2 + 4 d^2 N multiplications in layer l = 0, 1, ...
template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options = {});

}  // namespace matapprox::attention
