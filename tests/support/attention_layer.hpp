#pragma once

#include "matapprox/attention/layer.hpp"
#include "support/finite_differences.hpp"

namespace matapprox::test {

/// N x d standard normal numbers.
attention::TokenMatrix<double> random_tokens(Index n, Index d, std::uint64_t seed);
/// The entries of A, row by row.
Vector flat(const attention::TokenMatrix<double>& A);

/// A layer with its initial parameters, its gradient and its memory, for running one sample after
/// the other.
template <class T>
struct LayerRun {
  LayerRun(const attention::Layer<T>& a_layer,
           const attention::ParameterList& a_list,
           Index a_width_out,
           std::uint64_t seed = 1)
      : layer(a_layer),
        list(a_list),
        width_out(a_width_out),
        parameters(list.initial_values<T>(seed)),
        gradient(parameters.size(), T(0)) {}

  attention::LayerContext<T> context(attention::Mask mask) {
    attention::LayerContext<T> c;
    c.parameters = parameters.data();
    c.gradient = gradient.data();
    c.mask = mask;
    c.training = training;
    c.random = random;
    c.workspace = &workspace;
    return c;
  }
  attention::TokenMatrix<T> forward(const attention::TokenMatrix<T>& X, attention::Mask mask) {
    attention::TokenMatrix<T> Y(X.rows(), width_out);
    layer.forward(context(mask), X, Y, cache);
    return Y;
  }
  attention::TokenMatrix<T> backward(const attention::TokenMatrix<T>& X,
                                     const attention::TokenMatrix<T>& dY,
                                     attention::Mask mask) {
    attention::TokenMatrix<T> dX(X.rows(), X.cols());
    layer.backward(context(mask), X, dY, dX, cache);
    return dX;
  }

  const attention::Layer<T>& layer;
  const attention::ParameterList& list;
  Index width_out;
  std::vector<T> parameters;
  std::vector<T> gradient;
  bool training = false;  ///< true: dropout is active, drawn from `random`
  attention::RandomKey random = {};
  attention::Cache<T> cache;
  attention::Workspace<T> workspace;
};

/// X W + b with the parameters NAME.weight and NAME.bias of a run.
Matrix linear_of(const LayerRun<double>& run, const std::string& name, const Matrix& X);
/// The parameter with this name as a matrix.
Matrix parameter_of(const LayerRun<double>& run, const std::string& name);
/// exp(S) with rows divided by their sums.
Matrix row_softmax(const Matrix& S);

/// Checks the backward pass of a layer by support/finite_differences.hpp. J is the derivative of Y
/// with respect to X and all parameters; the direction is v for X and random for the trained
/// parameters.
void expect_layer_adjoint(LayerRun<double>& run,
                          const attention::TokenMatrix<double>& X,
                          const attention::TokenMatrix<double>& v,
                          const attention::TokenMatrix<double>& u,
                          attention::Mask mask);

}  // namespace matapprox::test
