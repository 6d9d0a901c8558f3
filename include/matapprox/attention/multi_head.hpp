#pragma once

#include "matapprox/attention/head_core.hpp"
#include "matapprox/attention/linear.hpp"

namespace matapprox::attention {

struct MultiHeadOptions {
  bool output_projection = true;  ///< out = concat(H) W_O + b_O, else concat(H)
  bool queries = true;            ///< false: the core is given none, and no keys
};

/// Q, K, V = X W_{Q,K,V} + b; head i works on columns i p .. (i+1) p - 1 of each, p = d / h; then
/// the heads side by side and an output projection. Parameters PREFIX.query, .key, .value, .output.
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
  void forward(const Call<T>& call,
               const ConstTokens<T>& X,
               Tokens<T> Y,
               Cache<T>& cache) const override;
  void backward(const Call<T>& call,
                const ConstTokens<T>& X,
                const ConstTokens<T>& dY,
                Tokens<T> dX,
                Cache<T>& cache) const override;
  void apply_map(const Call<T>& call,
                 const ConstTokens<T>& X,
                 Index head,
                 const ConstTokens<T>& B,
                 Tokens<T> Y,
                 Cache<T>& cache) const override;
  void apply_map_transpose(const Call<T>& call,
                           const ConstTokens<T>& X,
                           Index head,
                           const ConstTokens<T>& B,
                           Tokens<T> Y,
                           Cache<T>& cache) const override;
  AttentionCost cost(Index length) const override;

 private:
  /// Queries, keys and values of all heads side by side in one array, and the parts of a head.
  struct Parts;
  Parts project(const Call<T>& call, const ConstTokens<T>& X, Cache<T>& cache) const;

  AttentionShape shape_;
  std::unique_ptr<Linear<T>> query_;  ///< null without queries
  std::unique_ptr<Linear<T>> key_;
  Linear<T> value_;
  std::unique_ptr<Linear<T>> output_;  ///< null without output projection
  std::unique_ptr<HeadCore<T>> core_;
};

}  // namespace matapprox::attention
