#include "matapprox/attention/training/attention_on_sample.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "matapprox/attention/training/trainer.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::training {
namespace {

/// Returns the vector whose product with a matrix is the mean of the chosen rows or columns; `what`
/// names these in errors.
Matrix weights_of_mean(const std::vector<Index>& chosen, Index size, const char* what) {
  require(!chosen.empty(), "attention rows: there are no {}s to average", what);
  Matrix weights = Matrix::Zero(size, 1);
  for (const Index i : chosen) {
    require(i >= 0 && i < size, "attention rows: {} {} is outside 0..{}", what, i, size - 1);
    weights(i, 0) += 1 / static_cast<double>(chosen.size());
  }
  return weights;
}

}  // namespace

using attention::TokenMatrix;
using attention::Workspace;

/// A model with its parameters, and the results of a forward pass.
struct AttentionOnSample::Run {
  Run(const ModelDescription& description, std::span<const float> values, tasks::Sample a_sample)
      : model(description), parameters(values.begin(), values.end()), sample(std::move(a_sample)) {}
  Model<double> model;
  std::vector<double> parameters;
  tasks::Sample sample;
  std::vector<std::uint8_t> mask;           ///< mask of the rows that the layers process
  std::vector<TokenMatrix<double>> inputs;  ///< input of the attention of each layer
  std::vector<double> residual_scores;      ///< passed from layer to layer
  Index length = 0;

  LayerContext<double> context(Workspace<double>& workspace) const {
    LayerContext<double> c;
    c.parameters = parameters.data();
    c.mask = mask;
    c.workspace = &workspace;
    return c;
  }
};

/// The effective attention matrix. Each product has its own cache and workspace, so that threads
/// share no memory.
class AttentionOnSample::Operator final : public LinearOperator {
 public:
  Operator(std::shared_ptr<const Run> run, Index layer, Index head)
      : run_(std::move(run)), layer_(layer), head_(head) {}
  Index rows() const override { return run_->length; }
  Index cols() const override { return run_->length; }
  Cost cost() const override {
    const auto work =
        static_cast<double>(run_->model.attention(layer_).cost(run_->length).multiplications);
    return {static_cast<Index>(run_->parameters.size()),
            static_cast<Index>(run_->parameters.size() * sizeof(double)),
            work,
            work};
  }
  std::string description() const override {
    return fmt::format("effective attention, layer {} head {}, of {}",
                       layer_,
                       head_,
                       run_->model.description().options.attention);
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { product(X, Y, false); }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { product(X, Y, true); }

  void product(const ConstBlock& X, Block Y, bool transposed) const {
    Cache<double> cache;
    Workspace<double> workspace;
    LayerContext<double> context = run_->context(workspace);
    std::vector<double> residual_scores = run_->residual_scores;
    if (!residual_scores.empty()) context.residual_scores = residual_scores.data();
    // The gradient of the parameters, which E^T X does not need, is discarded.
    std::vector<double> gradient;
    std::vector<double> residual_scores_gradient;
    if (transposed) {
      gradient.assign(run_->parameters.size(), 0);
      residual_scores_gradient.assign(residual_scores.size(), 0);
      context.gradient = gradient.data();
      if (!residual_scores.empty())
        context.residual_scores_gradient = residual_scores_gradient.data();
    }
    const TokenMatrix<double> B = X;
    TokenMatrix<double> result(X.rows(), X.cols());
    const auto& layer = run_->model.attention(layer_);
    const TokenMatrix<double>& input = run_->inputs[static_cast<std::size_t>(layer_)];
    if (transposed) {
      layer.apply_map_transpose(context, input, head_, B, result, cache);
    } else {
      layer.apply_map(context, input, head_, B, result, cache);
    }
    Y = result;
  }

  std::shared_ptr<const Run> run_;
  Index layer_;
  Index head_;
};

AttentionOnSample::AttentionOnSample(const ModelDescription& description,
                                     std::span<const float> parameters,
                                     const tasks::Sample& sample)
    : run_(std::make_shared<Run>(description, parameters, sample)) {
  Run& run = *run_;
  require(static_cast<Index>(parameters.size()) == run.model.parameters().size(),
          "attention map: {} parameters for a model of {}",
          parameters.size(),
          run.model.parameters().size());
  Cache<double> cache;
  Workspace<double> workspace;
  TokenMatrix<double> out(run.model.rows_out(sample), run.model.outputs());
  run.model.forward(run.context(workspace), sample, out, cache);
  run.length = run.model.rows_in(sample);
  const attention::Mask mask = run.model.mask(sample, cache);
  run.mask.assign(mask.begin(), mask.end());
  for (Index l = 0; l < run.model.layers(); ++l)
    run.inputs.emplace_back(run.model.attention_input(l, run.length, cache));
  const double* residual_scores = run.model.residual_scores(run.length, cache);
  if (residual_scores != nullptr) {
    const Index size = run.model.attention(0).residual_score_count(run.length) * run.model.layers();
    run.residual_scores.assign(residual_scores, residual_scores + size);
  }
}

Index AttentionOnSample::length() const { return run_->length; }
Index AttentionOnSample::layers() const { return run_->model.layers(); }
Index AttentionOnSample::heads() const { return run_->model.attention(0).heads(); }

std::shared_ptr<const LinearOperator> AttentionOnSample::matrix(Index layer, Index head) const {
  require(layer >= 0 && layer < layers(),
          "attention map: layer {} is outside 0..{}",
          layer,
          layers() - 1);
  require(
      head >= 0 && head < heads(), "attention map: head {} is outside 0..{}", head, heads() - 1);
  return std::make_shared<Operator>(run_, layer, head);
}

Matrix AttentionOnSample::summary() const {
  const std::vector<Index> all = index_range(0, length());
  Matrix mean = Matrix::Zero(length(), length());
  for (Index l = 0; l < layers(); ++l) {
    Matrix largest = matrix(l, 0)->columns_at(all);
    for (Index h = 1; h < heads(); ++h) largest = largest.cwiseMax(matrix(l, h)->columns_at(all));
    mean += largest / static_cast<double>(layers());
  }
  return mean;
}

Vector mean_attention(const LinearOperator& E, const std::vector<Index>& rows) {
  return E.apply_transpose(weights_of_mean(rows, E.rows(), "row")).col(0);
}

Vector mean_attention_to(const LinearOperator& E, const std::vector<Index>& columns) {
  return E.apply(weights_of_mean(columns, E.cols(), "column")).col(0);
}

std::vector<Index> pixels_around(const std::vector<Index>& pixels,
                                 Index size,
                                 Index width,
                                 double radius) {
  require(width >= 1 && size % width == 0,
          "attention rows: {} pixels do not form an image of {} columns",
          size,
          width);
  std::set<Index> around;
  for (const Index pixel : pixels) {
    require(
        pixel >= 0 && pixel < size, "attention rows: pixel {} is outside 0..{}", pixel, size - 1);
    for (Index other = 0; other < size; ++other) {
      const Index across = other % width - pixel % width;
      const Index down = other / width - pixel / width;
      if (static_cast<double>(across * across + down * down) <= radius * radius)
        around.insert(other);
    }
  }
  return {around.begin(), around.end()};
}

double attention_correlation(const Matrix& A, const Matrix& B) {
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "attention correlation: {} x {} and {} x {}",
          A.rows(),
          A.cols(),
          B.rows(),
          B.cols());
  double sum = 0;
  Index rows = 0;
  for (Index i = 0; i < A.rows(); ++i) {
    const Vector a = A.row(i).transpose().array() - A.row(i).mean();
    const Vector b = B.row(i).transpose().array() - B.row(i).mean();
    // A row whose entries differ by rounding only has no correlation.
    constexpr double kConstant = 1e-14;
    if (a.norm() <= kConstant * A.row(i).norm() || b.norm() <= kConstant * B.row(i).norm())
      continue;
    sum += a.dot(b) / (a.norm() * b.norm());
    ++rows;
  }
  require(rows > 0, "attention correlation: all rows are constant");
  return sum / static_cast<double>(rows);
}

namespace {

/// Sums over the entries of a layer's output.
struct Sums {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(const TokenMatrix<float>& output, attention::Mask mask) {
    for (Index i = 0; i < output.rows(); ++i) {
      if (!mask.empty() && mask[static_cast<std::size_t>(i)] == 0) continue;
      for (Index j = 0; j < output.cols(); ++j) {
        const double x = output(i, j);
        sum += x;
        squares += x * x;
      }
      count += static_cast<double>(output.cols());
    }
  }
  /// Returns NaN if an entry is not finite.
  double standard_deviation() const {
    const double mean = sum / count;
    const double variance = squares / count - mean * mean;
    return variance < 0 ? 0 : std::sqrt(variance);
  }
};

}  // namespace

std::vector<double> attention_output_std(const Model<float>& model,
                                         std::span<const float> parameters,
                                         const tasks::Task& task,
                                         tasks::Split split,
                                         Index samples) {
  const Index separator = model.description().options.pair_separator;
  require(separator < 0,
          "attention output: pair_separator {} is set, but a model of one text is required",
          separator);
  const Index size = task.size(split);
  const Index count = size == 0 ? samples : std::min(size, samples);
  require(count >= 1, "attention output: there are no samples");
  std::vector<Sums> sums(static_cast<std::size_t>(model.layers()));
  tasks::Sample sample;
  Cache<float> cache;
  Cache<float> layer_cache;
  Workspace<float> workspace;
  TokenMatrix<float> out;
  TokenMatrix<float> output;
  LayerContext<float> context;
  context.parameters = parameters.data();
  context.workspace = &workspace;
  for (Index i = 0; i < count; ++i) {
    throw_if_stop_requested();
    task.make(split, i, sample);
    out.resize(model.rows_out(sample), model.outputs());
    model.forward(context, sample, out, cache);
    const Index length = model.rows_in(sample);
    LayerContext<float> layer_context = context;
    layer_context.mask = model.mask(sample, cache);
    layer_context.residual_scores = model.residual_scores(length, cache);
    for (Index l = 0; l < model.layers(); ++l) {
      const attention::Attention<float>& attention = model.attention(l);
      output.resize(length, attention.width_out());
      attention.forward(
          layer_context, model.attention_input(l, length, cache), output, layer_cache);
      sums[static_cast<std::size_t>(l)].add(output, layer_context.mask);
    }
  }
  std::vector<double> of_layers;
  of_layers.reserve(sums.size());
  for (const Sums& each : sums) of_layers.push_back(each.standard_deviation());
  return of_layers;
}

}  // namespace matapprox::training
