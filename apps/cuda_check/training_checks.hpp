#pragma once

#include "attention/cuda/kernels/model_training.hpp"
#include "checker.hpp"
#include "chord_checks.hpp"
#include "sums_checks.hpp"

namespace matapprox::cuda {

/// A small model of two layers; the second is narrower and has no residual connection.
inline ModelShape small_model(Index samples, Index length) {
  ModelShape model;
  model.samples = samples;
  model.length = length;
  model.options.width = 4;
  PsfLayerShape layer;
  layer.in = 4;
  layer.hidden = 3;
  layer.value = 4;
  layer.pattern = reference_shape(length);
  BlockShape block;
  block.options.kind = BlockKind::kBare;
  block.width = model.options.width;
  block.attention = layer;
  model.blocks.push_back(block);
  layer.value = 2;
  layer.residual = false;
  block.attention = layer;
  model.blocks.push_back(block);
  return model;
}

/// Inputs of every kind for one batch.
template <class T>
struct TestBatch {
  std::vector<T> features;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> segments;
  std::vector<std::uint8_t> mask;
  std::vector<double> numbers;
  std::vector<std::int32_t> labels;

  TestBatch(const ModelShape& model, bool masked) {
    const Index rows = model.rows();
    features = test_numbers<T>(rows * model.features, 21);
    if (model.vocabulary > 0) {
      for (Index r = 0; r < rows; ++r)
        tokens.push_back(static_cast<std::int32_t>(r * r % model.vocabulary));
    }
    for (Index r = 0; model.options.embedding.segments > 0 && r < rows; ++r)
      segments.push_back(static_cast<std::int32_t>(r * r % model.options.embedding.segments));
    if (masked) mask = test_mask(rows);
    numbers = test_numbers<double>(model.samples, 22);
    for (Index s = 0; s < model.samples * (model.label_sets ? model.outputs : 1); ++s)
      labels.push_back(static_cast<std::int32_t>(s % (model.label_sets ? 2 : model.outputs)));
  }
  HostBatch<T> host() const {
    HostBatch<T> batch;
    batch.features = features.data();
    batch.tokens = tokens.data();
    batch.segments = segments.data();
    batch.mask = mask.empty() ? nullptr : mask.data();
    batch.numbers = numbers.data();
    batch.labels = labels.data();
    return batch;
  }
};

/// Creates a training of all parameters, unless the settings select parts.
template <class T = double, class Queue>
ModelTraining<T, Queue> training_of(const Queue& queue,
                                    const ModelShape& model,
                                    const StepSettings& settings = {}) {
  StepSettings own = settings;
  if (own.parts.empty()) own.parts = {{0, laid_out(model).parameters, 1}};
  return ModelTraining<T, Queue>(queue, laid_out(model), own);
}

template <class Queue>
double mean_loss(Checker<Queue>& check,
                 ModelTraining<double, Queue>& training,
                 const std::vector<double>& parameters) {
  training.set_parameters(parameters.data());
  training.run_forward();
  const Index samples = training.network().model().samples;
  double sum = 0;
  for (const double loss : check.numbers(training.network().losses(), samples)) sum += loss;
  return sum / static_cast<double>(samples);
}

/// Returns true if a parameter is trained; the features of a Performer are not.
inline bool is_trained(const ModelShape& model, Index number) {
  for (const BlockShape& block : model.blocks) {
    const auto* heads = std::get_if<MultiHeadShape>(&block.attention);
    if (heads == nullptr) continue;
    const Index begin = heads->omega.offset;
    if (number >= begin && number < begin + heads->omega.size()) return false;
  }
  return true;
}

/// Checks derivatives along random directions against central differences.
template <class Queue>
void check_gradient(Checker<Queue>& check,
                    const ModelShape& model,
                    bool masked,
                    const std::string& name) {
  auto training = training_of(check.queue(), model);
  const TestBatch<double> batch(model, masked);
  training.upload(batch.host());
  const Index size = training.size();
  const auto at = test_numbers<double>(size, 31);
  std::vector<double> gradient(size);
  training.set_parameters(at.data());
  training.run_gradient();
  training.gradient(gradient.data());
  std::vector<double> derivatives;
  std::vector<double> differences;
  // Each direction changes a short range of parameters only, so that no range is hidden by others.
  const Index step = size < 40 ? 1 : size / 40;
  for (Index first = 0; first < size; first += step) {
    constexpr double kStep = 1e-5;
    const auto direction = test_numbers<double>(size, static_cast<std::uint64_t>(40 + first));
    std::vector<double> above = at;
    std::vector<double> below = at;
    double derivative = 0;
    for (Index i = first; i < std::min(size, first + step); ++i) {
      const auto p = static_cast<std::size_t>(i);
      if (!is_trained(training.network().model(), i)) continue;
      above[p] += kStep * direction[p];
      below[p] -= kStep * direction[p];
      derivative += gradient[p] * direction[p];
    }
    derivatives.push_back(derivative);
    differences.push_back((mean_loss(check, training, above) - mean_loss(check, training, below)) /
                          (2 * kStep));
  }
  check.expect_close(derivatives, differences, 1e-6, name + ", gradient");
}

template <class Queue>
void check_gradients(Checker<Queue>& check) {
  for (const Index length : {1, 2, 3, 13}) {
    ModelShape model = small_model(3, length);
    model.features = 2;
    model.options.pool = Pool::kFlatten;
    check_gradient(check, model, false, "numbers, flatten, N = " + std::to_string(length));
    model.options.embedding.positions = attention::Positions::kLearned;
    model.loss.kind = LossKind::kCrossEntropy;
    model.loss.label_smoothing = 0.1;
    model.outputs = 3;
    check_gradient(check, model, true, "numbers, classes, N = " + std::to_string(length));
    model.features = 0;
    model.vocabulary = 5;
    model.options.pool = Pool::kMean;
    check_gradient(check, model, true, "tokens, mean, N = " + std::to_string(length));
    model.options.embedding.positions = attention::Positions::kNone;
    model.position_encoding = test_numbers<double>(length * model.options.width, 23);
    model.loss.kind = LossKind::kBinaryCrossEntropy;
    model.options.pool = Pool::kCls;
    check_gradient(check, model, false, "tokens, first row, N = " + std::to_string(length));
  }
}

template <class Queue>
std::vector<double> parameters_of(const ModelTraining<double, Queue>& training) {
  std::vector<double> parameters(training.size());
  training.parameters(parameters.data());
  return parameters;
}

/// Checks steps of an optimizer, on the gradients of the device, against the formulas.
template <class Queue>
void check_steps(Checker<Queue>& check, OptimizerKind kind, double clip) {
  ModelShape model = small_model(2, 5);
  model.features = 2;
  StepSettings settings;
  settings.options.kind = kind;
  settings.options.clip = clip;
  settings.options.weight_decay = 0.1;
  const Index size = laid_out(model).parameters;
  // Parameters between the parts stay unchanged.
  settings.parts = {{0, 7, 0.5}, {20, size, 1}};
  auto training = training_of(check.queue(), model, settings);
  const TestBatch<double> batch(model, false);
  training.upload(batch.host());
  auto x = test_numbers<double>(size, 51);
  training.set_parameters(x.data());
  std::vector<double> m(x.size());
  std::vector<double> v(x.size());
  std::vector<double> gradient(x.size());
  constexpr double kRate = 1e-4;
  double losses = 0;
  const std::string name = text("optimizer %d, clip %g", static_cast<int>(kind), clip);
  for (int t = 1; t <= 3; ++t) {
    losses += mean_loss(check, training, x);
    training.take_step(kRate);
    training.gradient(gradient.data());
    double square = 0;
    for (const double g : gradient) square += g * g;
    const double scale = clip > 0 && std::sqrt(square) > clip ? clip / std::sqrt(square) : 1;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (i >= 7 && i < 20) {
        check.expect(!(std::abs(gradient[i]) > 0), name + ", gradient of a frozen parameter");
        continue;
      }
      const bool apart = kind == OptimizerKind::kAdamW;
      const double g = scale * gradient[i] + (apart ? 0 : 0.1 * x[i]);
      double change = 0;
      if (kind == OptimizerKind::kSgd) {
        m[i] = 0.9 * m[i] + g;
        change = m[i];
      } else {
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        change =
            m[i] / (1 - std::pow(0.9, t)) / (std::sqrt(v[i] / (1 - std::pow(0.999, t))) + 1e-8);
      }
      if (apart) change += 0.1 * x[i];
      x[i] -= (i < 7 ? 0.5 : 1) * kRate * change;
    }
    check.expect_close(parameters_of(training), x, 1e-12, name + ", step " + std::to_string(t));
    const StepStatus status = training.status();
    check.expect_close(std::vector<double>{status.norm, status.loss_sum, status.steps},
                       std::vector<double>{std::sqrt(square), losses, static_cast<double>(t)},
                       1e-12,
                       name + ", status");
  }
}

/// Checks that a batch whose loss is not finite changes nothing, and neither do later batches.
template <class Queue>
void check_stop(Checker<Queue>& check) {
  ModelShape model = small_model(2, 5);
  model.features = 2;
  auto training = training_of(check.queue(), model);
  TestBatch<double> batch(model, false);
  const auto x = test_numbers<double>(training.size(), 52);
  training.set_parameters(x.data());
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), 0.5}) {
    batch.numbers[1] = bad;
    training.upload(batch.host());
    training.take_step(0.1);
    check.expect_equal(parameters_of(training), x, "a step that is not finite");
    check.expect(training.status().stopped > 0, "a step that is not finite: stopped");
    check.expect(!(training.status().steps > 0), "a step that is not finite: steps");
  }
}

template <class Queue>
void check_training(Checker<Queue>& check) {
  check_gradients(check);
  for (const OptimizerKind kind :
       {OptimizerKind::kAdam, OptimizerKind::kAdamW, OptimizerKind::kSgd}) {
    check_steps(check, kind, 0);
    check_steps(check, kind, 0.05);
  }
  check_stop(check);
}

}  // namespace matapprox::cuda
