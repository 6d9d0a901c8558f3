#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

struct SoftmaxOptions {
  bool residual_scores = false;  ///< scores of the layers below are added to those of this one
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// Softmax attention, E = softmax_rows(Q K^T / sqrt(p)). [VSP+17, Eq. 1]
///
/// Blocks of queries meet blocks of keys one after the other with a running maximum and sum, and
/// the backward pass makes the entries again from the saved logarithms of the sums: O(N d) memory,
/// no N x N array. [RS21; DFE+22] A row whose keys are all masked gives 0.
/// 2 d N^2 + 4 d^2 N multiplications; parameters 4 d^2 + 4 d. Causal: yes.
///
/// With `residual_scores` it is Realformer: S_l = Q_l K_l^T / sqrt(p) + S_{l-1}. [HRKA21] No N x N
/// array here either: queries and keys of all layers so far side by side, N x 2 d numbers a layer,
/// and (l + 2) d N^2 + 4 d^2 N multiplications in layer l = 0, 1, ...
template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options = {});

}  // namespace matapprox::attention
