#include "training/device_model.hpp"

#include <algorithm>

#include "attention/sinusoidal_encoding.hpp"
#include "matapprox/attention/psf.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::cuda {
namespace {

using attention::BlockKind;
using attention::Pool;
using training::HeadKind;
using training::LossKind;

void require_on_device(bool good, const char* option, const std::string& value, const char* takes) {
  if (good) return;
  throw NotAvailable(fmt::format(
      "training on a device: {} is {}; it takes {}, device cpu takes all", option, value, takes));
}

TokenPool device_pool(Pool pool) {
  switch (pool) {
    case Pool::kFlatten:
      return TokenPool::kFlatten;
    case Pool::kCls:
      return TokenPool::kCls;
    case Pool::kMean:
      return TokenPool::kMean;
    default:
      throw NotAvailable(fmt::format(
          "training on a device: pool is {}; it takes flatten, cls, mean, device cpu takes all",
          enum_name(pool)));
  }
}

void check_options(const training::ModelDescription& description) {
  const training::ModelOptions& options = description.options;
  require_on_device(options.attention == "psf", "attention", options.attention, "psf");
  require_on_device(options.block.kind == BlockKind::kBare,
                    "block",
                    std::string(enum_name(options.block.kind)),
                    "bare");
  require_on_device(
      options.block.dropout <= 0 && options.embedding_dropout <= 0 && options.head_dropout <= 0,
      "dropout, embedding_dropout or head_dropout",
      "above 0",
      "0");
  require_on_device(options.head == HeadKind::kLinear, "head", "mlp", "linear");
  require_on_device(!options.pooler && !options.embedding.norm && !options.embedding.cls_token &&
                        options.embedding.segments == 0 && options.pair_separator < 0,
                    "pooler, embedding_norm, cls_token, segments or pair_separator",
                    "given",
                    "none of them");
  require_on_device(description.task.answer != tasks::Answer::kTokenClass,
                    "the task's answer",
                    "a class for each token",
                    "a number or a class");
  require_on_device(description.task.answer != tasks::Answer::kLabels,
                    "the task's answer",
                    "a set of labels",
                    "a number or a class");
}

PsfLayerShape device_layer(const training::ModelDescription& description, Index width) {
  const auto options = options_from<attention::PsfOptions>(description.attention_options);
  const ChordPattern pattern = named_chord_pattern(description.task.length, options.pattern);
  PsfLayerShape layer;
  layer.in = width;
  layer.hidden = options.hidden == 0 ? width : options.hidden;
  layer.value = options.value_width == 0 ? width : options.value_width;
  layer.residual = options.residual;
  layer.pattern = {pattern.order, pattern.offsets};
  return layer;
}

SampleLoss device_loss(LossKind kind, bool number) {
  if (kind == LossKind::kAuto) kind = number ? LossKind::kSquared : LossKind::kCrossEntropy;
  if (kind == LossKind::kSquared) return SampleLoss::kSquared;
  return kind == LossKind::kCrossEntropy ? SampleLoss::kCrossEntropy
                                         : SampleLoss::kBinaryCrossEntropy;
}

StepKind device_step(training::OptimizerKind kind) {
  switch (kind) {
    case training::OptimizerKind::kAdam:
      return StepKind::kAdam;
    case training::OptimizerKind::kAdamW:
      return StepKind::kAdamW;
    case training::OptimizerKind::kSgd:
      return StepKind::kSgd;
  }
  throw InvalidArgument("training on a device: unknown optimizer");
}

}  // namespace

template <class T>
PsfModelShape device_model(const training::Model<T>& model,
                           const training::LossOptions& loss,
                           Index samples) {
  const training::ModelDescription& description = model.description();
  check_options(description);
  const training::ModelOptions& options = description.options;
  const tasks::TaskShape& task = description.task;
  const bool number = task.answer == tasks::Answer::kNumber;
  // Refuses a loss that does not fit the task.
  const training::Loss checked(loss, task);
  PsfModelShape shape;
  shape.samples = samples;
  shape.length = task.length;
  shape.width = options.width;
  shape.features = task.features;
  shape.vocabulary = task.vocabulary;
  shape.learned_positions = options.embedding.positions == attention::Positions::kLearned;
  if (options.embedding.positions == attention::Positions::kSinusoidal) {
    const auto position_encoding = attention::sinusoidal_encoding(
        task.length, options.width, options.embedding.position_scale);
    shape.position_encoding.assign(position_encoding.data(),
                                   position_encoding.data() + position_encoding.size());
  }
  for (Index l = 0; l < options.layers; ++l)
    shape.layers.push_back(device_layer(description, options.width));
  shape.pool = device_pool(options.pool);
  shape.outputs = model.outputs();
  shape.loss = device_loss(loss.kind, number);
  shape.smoothing = loss.label_smoothing;
  shape.tolerance = task.tolerance;
  lay_out(shape);
  return shape;
}

template PsfModelShape device_model(const training::Model<float>&,
                                    const training::LossOptions&,
                                    Index);
template PsfModelShape device_model(const training::Model<double>&,
                                    const training::LossOptions&,
                                    Index);

StepSettings device_settings(const training::OptimizerOptions& options,
                             const attention::ParameterList& list) {
  StepSettings settings;
  settings.kind = device_step(options.kind);
  settings.beta1 = options.beta1;
  settings.beta2 = options.beta2;
  settings.epsilon = options.epsilon;
  settings.momentum = options.momentum;
  settings.weight_decay = options.weight_decay;
  settings.clip = options.clip;
  for (const attention::Parameter& p : list.parameters()) {
    if (!p.trained) continue;
    const double factor = p.name.starts_with("embedding.") ? options.embedding_factor : 1;
    const TrainedPart part{p.offset, p.offset + p.size(), factor};
    const bool joins = !settings.parts.empty() && settings.parts.back().end == part.begin &&
                       !(std::abs(settings.parts.back().factor - factor) > 0);
    if (joins) {
      settings.parts.back().end = part.end;
    } else {
      settings.parts.push_back(part);
    }
  }
  return settings;
}

double learning_rate(const training::OptimizerOptions& options, Index step, Index steps) {
  return options.learning_rate *
         training::schedule_factor(options.schedule, options.warmup, step, steps);
}

template <class T>
PackedBatch<T>::PackedBatch(const PsfModelShape& model)
    : length_(model.length),
      features_of_token_(model.features),
      vocabulary_(model.vocabulary),
      classes_(model.loss == SampleLoss::kSquared ? 0 : model.outputs) {}

template <class T>
void PackedBatch<T>::check(const tasks::Sample& sample) const {
  const auto tokens = static_cast<Index>(sample.tokens.size());
  const auto numbers = static_cast<Index>(sample.features.size());
  const Index n = vocabulary_ > 0 ? tokens : numbers / features_of_token_;
  require(
      n == length_ && (vocabulary_ > 0 ? numbers == 0 : numbers % features_of_token_ == 0),
      "training on a device: a sample of {} tokens and {} features; all samples have to have {} "
      "tokens",
      tokens,
      numbers,
      length_);
  require(sample.mask.empty() || static_cast<Index>(sample.mask.size()) == n,
          "training on a device: a mask of {} for {} tokens",
          sample.mask.size(),
          n);
  for (const std::int32_t token : sample.tokens) {
    require(token >= 0 && token < vocabulary_,
            "training on a device: token {} is outside 0..{}",
            token,
            vocabulary_ - 1);
  }
  require(classes_ == 0 || (sample.label >= 0 && sample.label < classes_),
          "training on a device: label {} is outside 0..{}",
          sample.label,
          classes_ - 1);
}

template <class T>
void PackedBatch<T>::add(const tasks::Sample& sample) {
  check(sample);
  features_.insert(features_.end(), sample.features.begin(), sample.features.end());
  tokens_.insert(tokens_.end(), sample.tokens.begin(), sample.tokens.end());
  if (sample.mask.empty()) {
    mask_.insert(mask_.end(), static_cast<std::size_t>(length_), 1);
  } else {
    mask_.insert(mask_.end(), sample.mask.begin(), sample.mask.end());
    masked_ = true;
  }
  numbers_.push_back(sample.number);
  labels_.push_back(sample.label);
  ++samples_;
}

template <class T>
void PackedBatch<T>::clear() {
  features_.clear();
  tokens_.clear();
  mask_.clear();
  numbers_.clear();
  labels_.clear();
  masked_ = false;
  samples_ = 0;
}

template <class T>
HostBatch<T> PackedBatch<T>::host() const {
  HostBatch<T> batch;
  batch.features = features_.data();
  batch.tokens = tokens_.data();
  batch.mask = masked_ ? mask_.data() : nullptr;
  batch.numbers = numbers_.data();
  batch.labels = labels_.data();
  return batch;
}

template class PackedBatch<float>;
template class PackedBatch<double>;

}  // namespace matapprox::cuda
