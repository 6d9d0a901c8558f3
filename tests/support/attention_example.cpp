#include "support/attention_example.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace matapprox::test {
namespace {

attention::AttentionShape shape_for(const attention::TokenMatrix<double>& X,
                                    Index heads,
                                    bool causal,
                                    double attention_dropout) {
  attention::AttentionShape shape;
  shape.width = X.cols();
  shape.heads = heads;
  shape.length = X.rows();
  shape.causal = causal;
  shape.attention_dropout = attention_dropout;
  return shape;
}

}  // namespace

AttentionExample::AttentionExample(const std::string& mechanism,
                                   const attention::TokenMatrix<double>& tokens,
                                   Index heads,
                                   const NamedOptions& options,
                                   bool causal,
                                   double attention_dropout)
    : X(tokens),
      shape(shape_for(tokens, heads, causal, attention_dropout)),
      layer(attention::make_attention<double>(mechanism, list, "a", shape, options)),
      run(*layer, list, layer->width_out()) {}

Matrix AttentionExample::effective(Index head, attention::Mask mask) {
  const Index n = X.rows();
  attention::TokenMatrix<double> E(n, n);
  const attention::TokenMatrix<double> I = attention::TokenMatrix<double>::Identity(n, n);
  layer->apply_map(run.context(mask), X, head, I, E, run.cache);
  return E;
}

Matrix AttentionExample::part(const std::string& name, Index head) const {
  const Index p = shape.head_width();
  return linear_of(run, name, X).middleCols(head * p, p);
}

double AttentionExample::scale() const {
  return 1 / std::sqrt(static_cast<double>(shape.head_width()));
}

attention::TokenMap<double> AttentionExample::parameter(const std::string& name) {
  const attention::Parameter& p = list.find(name);
  return {run.parameters.data() + p.offset, p.rows, p.cols};
}

void expect_same_matrix(const Matrix& actual, const Matrix& expected) {
  EXPECT_LT((actual - expected).norm(), 1e-12 * expected.norm());
}

}  // namespace matapprox::test
