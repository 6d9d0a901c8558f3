#pragma once

#include "matapprox/attention/registry.hpp"
#include "support/attention_layer.hpp"

namespace matapprox::test {

/// A mechanism for tokens X with its initial parameters, for comparing its effective matrix with a
/// formula in N x N arrays.
struct AttentionExample {
  AttentionExample(const std::string& mechanism,
                   const attention::TokenMatrix<double>& tokens,
                   Index heads,
                   const NamedOptions& options,
                   bool causal = false,
                   double attention_dropout = 0);

  /// E of a head, N x N.
  Matrix effective(Index head, attention::Mask mask = {});
  /// Queries, keys and values of a head.
  Matrix query(Index head) const { return part("a.query", head); }
  Matrix key(Index head) const { return part("a.key", head); }
  Matrix value(Index head) const { return part("a.value", head); }
  Matrix part(const std::string& name, Index head) const;
  double scale() const;  ///< p^(-1/2)
  /// The values of a parameter, which may be changed.
  attention::TokenMap<double> parameter(const std::string& name);

  attention::TokenMatrix<double> X;
  attention::AttentionShape shape;
  attention::ParameterList list;
  std::unique_ptr<attention::Attention<double>> layer;
  LayerRun<double> run;
};

/// Expects equality to 1e-12 of the expected norm.
void expect_same_matrix(const Matrix& actual, const Matrix& expected);

}  // namespace matapprox::test
