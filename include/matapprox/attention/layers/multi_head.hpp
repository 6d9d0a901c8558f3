#pragma once

#include "matapprox/attention/layers/head_core.hpp"
#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {

struct MultiHeadOptions {
  bool output_projection = true;  ///< out = concat(H) W_O + b_O, else concat(H)
  bool queries = true;            ///< false: the core gets neither queries nor keys
  bool residual_scores = false;   ///< add the scores of the layers below to those of this one
};

/// Q, K, V = X W_{Q,K,V} + b; head i works on columns i p .. (i+1) p - 1 of each, p = d / h; then
/// the heads are concatenated and an output projection follows. Parameters PREFIX.query, .key,
/// .value, .output.
///
/// Residual scores never become an N x N array: the sum over layers of Q_l K_l^T is [Q_1 .. Q_l]
/// [K_1 .. K_l]^T, so each layer passes on its N x 2 d queries and keys, and the core gets those of
/// a head from all layers so far, N x (l + 1) p. [HRKA21]
template <class T>
class MultiHead final : public Attention<T> {
 public:
  MultiHead(ParameterList& list,
            const std::string& prefix,
            const AttentionShape& shape,
            std::unique_ptr<HeadCore<T>> core,
            const MultiHeadOptions& options = {});
  Index width_out() const override { return shape_.width; }
  Index heads() const override { return shape_.heads; }
  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override;
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override;
  void apply_map(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const override;
  void apply_map_transpose(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const override;
  AttentionCost cost(Index length) const override;
  Index residual_score_count(Index length) const override {
    return residual_scores_ ? 2 * length * shape_.width : 0;
  }

 private:
  using Heads = HeadArrays<T>;
  using Scope = typename Workspace<T>::Scope;
  /// Queries, keys and values of all heads.
  struct Parts;
  Index projected_width() const { return (query_ ? 3 : 1) * shape_.width; }
  Parts parts_in(TokenMap<T> numbers) const;
  Heads heads_in(TokenMap<T> numbers) const;
  Parts project(Context<T> context, In<T> X, Cache<T>& cache) const;
  /// The same for queries only.
  Heads project_queries(Context<T> context, In<T> X, Cache<T>& cache) const;
  void pull_back_output(Context<T> context, In<T> dY, const Heads& H, const Heads& dH) const;
  void pull_back_projections(Context<T> context, In<T> X, const Parts& gradients, Out<T> dX) const;
  /// Adds the contribution of the queries' gradients to dX.
  void pull_back_queries(Context<T> context, In<T> X, const Heads& dQ, Out<T> dX) const;
  /// Returns what a head's core reads, with V for its values: this layer's queries and keys, or
  /// with residual scores those of all layers so far, N x (l + 1) p, in memory of the scope.
  HeadInputs<T> inputs(
      Context<T> context, const Parts& parts, Index head, In<T> V, Scope& scope) const;
  /// Returns arrays for the gradients of what inputs() returns: parts of `parts`, or new ones.
  HeadGradients<T> gradients(Context<T> context,
                             const Parts& parts,
                             Index head,
                             Scope& scope) const;
  /// Distributes the gradients of queries and keys to this layer and, with residual scores, to the
  /// layers below.
  void distribute(Context<T> context,
                  Index head,
                  const HeadGradients<T>& d,
                  const Parts& gradients) const;
  bool has_residual_scores(Context<T> context) const {
    return residual_scores_ && context.residual_scores != nullptr;
  }
  /// Queries and keys of layer l in the residual scores, 2 N d numbers. The values of the result
  /// are invalid: they belong to the next slice.
  Parts slice(T* all, Index l, Index n) const {
    return {all + l * residual_score_count(n), true, shape_, n};
  }

  AttentionShape shape_;
  bool residual_scores_;
  std::unique_ptr<Linear<T>> query_;  ///< null without queries
  std::unique_ptr<Linear<T>> key_;
  Linear<T> value_;
  std::unique_ptr<Linear<T>> output_;  ///< null without output projection
  std::unique_ptr<HeadCore<T>> core_;
};

}  // namespace matapprox::attention
