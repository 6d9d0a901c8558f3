#pragma once

#include <string>
#include <vector>

#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "support/finite_differences.hpp"
#include "support/program_run.hpp"

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

/// A stack of layers of one mechanism, X_{l+1} = X_l + A_l(X_l), which pass on the residual scores
/// of the mechanism. The result has one more column than the tokens: its first entry is the sum of
/// the auxiliary losses, so that they are part of the derivative.
class AttentionStack final : public attention::Layer<double> {
 public:
  AttentionStack(attention::ParameterList& list,
                 const std::string& mechanism,
                 attention::AttentionShape shape,
                 Index layers,
                 const NamedOptions& options)
      : width_(shape.width) {
    shape.layers = layers;
    for (shape.layer = 0; shape.layer < layers; ++shape.layer) {
      layers_.push_back(attention::make_attention<double>(
          mechanism, list, "a" + std::to_string(shape.layer), shape, options));
    }
  }
  Index width_out() const { return width_ + 1; }
  const attention::Attention<double>& layer(Index l) const {
    return *layers_[static_cast<std::size_t>(l)];
  }

  void forward(const attention::LayerContext<double>& context,
               const attention::ConstTokens<double>& X,
               attention::Tokens<double> Y,
               attention::Cache<double>& cache) const override {
    double auxiliary = 0;
    attention::LayerContext<double> inner = carrying(context, X.rows(), cache);
    inner.auxiliary = &auxiliary;
    input(0, X.rows(), cache) = X;
    for (Index l = 0; l < count(); ++l) {
      auto below = input(l, X.rows(), cache);
      auto above = input(l + 1, X.rows(), cache);
      layer(l).forward(inner, below, above, cache.child(static_cast<std::size_t>(l)));
      above += below;
    }
    Y.leftCols(width_) = input(count(), X.rows(), cache);
    Y.col(width_).setZero();
    Y(0, width_) = auxiliary;
  }

  void backward(const attention::LayerContext<double>& context,
                const attention::ConstTokens<double>& X,
                const attention::ConstTokens<double>& dY,
                attention::Tokens<double> dX,
                attention::Cache<double>& cache) const override {
    attention::LayerContext<double> inner = carrying(context, X.rows(), cache);
    inner.auxiliary_weight = dY(0, width_);
    attention::TokenMatrix<double> part(X.rows(), width_);
    dX = dY.leftCols(width_);
    for (Index l = count() - 1; l >= 0; --l) {
      const auto below = input(l, X.rows(), cache);
      layer(l).backward(inner, below, dX, part, cache.child(static_cast<std::size_t>(l)));
      dX += part;
    }
  }

 private:
  Index count() const { return static_cast<Index>(layers_.size()); }
  attention::TokenMap<double> input(Index l, Index n, attention::Cache<double>& cache) const {
    return cache.array(static_cast<std::size_t>(2 + l), n, width_);
  }
  attention::LayerContext<double> carrying(const attention::LayerContext<double>& context,
                                           Index n,
                                           attention::Cache<double>& cache) const {
    attention::LayerContext<double> inner = context;
    const Index size = layer(0).residual_score_count(n);
    if (size == 0) return inner;
    inner.residual_scores = cache.array(0, count(), size).data();
    attention::TokenMap<double> gradient = cache.array(1, count(), size);
    gradient.setZero();
    inner.residual_scores_gradient = gradient.data();
    return inner;
  }

  Index width_;
  std::vector<std::unique_ptr<attention::Attention<double>>> layers_;
};

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

Arguments operator+(Arguments first, const Arguments& second);

/// Runs `matapprox attention` with these arguments.
ProgramResult run_attention(const Arguments& arguments);

/// Options of `train` for a model of a few thousand numbers that learns `adding` in a hundred
/// steps.
extern const Arguments kSmallRun;
/// The same options with a hundred steps and an output file.
Arguments small_run(const std::string& output, const Arguments& more = {});

/// The parameters of a saved model, as bytes.
std::string parameters_of(const std::string& model);

/// Fails the test unless the program refused with this exit code and a message with `text`.
void expect_refusal(const ProgramResult& result, int exit_code, const std::string& text);

/// A minimal token file: two classes, three texts each.
std::string tiny_token_file();

}  // namespace matapprox::test
