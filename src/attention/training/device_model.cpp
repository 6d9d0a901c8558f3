#include "attention/training/device_model.hpp"

#include <algorithm>
#include <cmath>

#include "attention/mechanisms/sinusoidal_encoding.hpp"
#include "matapprox/attention/mechanisms/linear_attention.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/attention/mechanisms/psf.hpp"
#include "matapprox/attention/mechanisms/softmax.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::cuda {

namespace {

using training::ModelDescription;

void require_on_device(bool good,
                       std::string_view option,
                       std::string_view value,
                       std::string_view takes) {
  if (good) return;
  throw NotAvailable(
      fmt::format("training on a device: {} is {}; only {} is supported; device cpu supports all",
                  option,
                  value,
                  takes));
}

void check_options(const ModelDescription& description) {
  require_on_device(description.task.answer != tasks::Answer::kTokenClass,
                    "the task's answer",
                    "a class for each token",
                    "a number, a class or a set of labels for a sample");
  // The pattern depends on the length of each text, which is arbitrary.
  require_on_device(
      description.options.pair_separator < 0 || description.options.attention != "psf",
      "pair_separator with psf",
      "given",
      "a sample of one text");
}

PsfLayerShape device_psf(const ModelDescription& description, Index length) {
  const auto options = options_from<attention::PsfOptions>(description.attention_options);
  const ChordPattern pattern = named_chord_pattern(length, options.pattern);
  const Index width = description.options.width;
  PsfLayerShape layer;
  layer.in = width;
  layer.hidden = options.hidden == 0 ? width : options.hidden;
  layer.value = options.value_width == 0 ? width : options.value_width;
  layer.residual = options.residual;
  layer.pattern = {pattern.order, pattern.offsets};
  return layer;
}

/// Sets the mechanism and its options.
void set_mechanism(const ModelDescription& description, MultiHeadShape& heads) {
  const std::string& name = description.options.attention;
  const bool causal = description.options.causal;
  const auto set = [&]<class Options>(HeadMechanism kind, Options options) {
    options = options_from<Options>(description.attention_options);
    heads.kind = kind;
    heads.output_projection = options.output_projection;
    return options;
  };
  require_on_device(!causal || name == "softmax" || name == "tokenwise",
                    fmt::format("causal with {}", name),
                    "true",
                    "false");
  if (name == "softmax") {
    const auto options = set(HeadMechanism::kSoftmax, attention::SoftmaxOptions());
    require_on_device(!options.residual_scores, "residual_scores", "true", "false");
    heads.causal = causal;
  } else if (name == "tokenwise") {
    set(HeadMechanism::kTokenwise, attention::TokenwiseOptions());
  } else if (name == "linformer") {
    const auto options = set(HeadMechanism::kLinformer, attention::LinformerOptions());
    heads.rank = options.rank;
    heads.mixtures_of_heads = options.scope == attention::LinformerScope::kHead;
    heads.shared_by_layers = options.scope == attention::LinformerScope::kModel;
    heads.tied = options.tied;
  } else if (name == "linear_transformer") {
    set(HeadMechanism::kLinearTransformer, attention::LinearTransformerOptions());
  } else if (name == "performer") {
    const auto options = set(HeadMechanism::kPerformer, attention::PerformerOptions());
    heads.features = attention::performer_features(options, heads.head_width());
  } else if (name == "simpletron") {
    heads.scale = set(HeadMechanism::kSimpletron, attention::SimpletronOptions()).scale;
  } else {
    require_on_device(
        false,
        "attention",
        name,
        "softmax, psf, linformer, simpletron, linear_transformer, performer or tokenwise");
  }
}

MultiHeadShape device_heads(const ModelDescription& description, Index layer) {
  const training::ModelOptions& options = description.options;
  MultiHeadShape heads;
  heads.width = options.width;
  heads.heads = options.heads;
  heads.layer = layer;
  heads.attention_dropout = options.attention_dropout;
  set_mechanism(description, heads);
  return heads;
}

BlockShape device_block(const ModelDescription& description, Index layer, Index length) {
  const training::ModelOptions& options = description.options;
  BlockShape block;
  if (options.attention == "psf") {
    block.attention = device_psf(description, length);
  } else {
    block.attention = device_heads(description, layer);
  }
  block.options = options.block;
  block.number = layer;
  block.width = options.width;
  return block;
}

}  // namespace

template <class T>
ModelShape device_model(const training::Model<T>& model,
                        const training::LossOptions& loss,
                        Index samples) {
  const ModelDescription& description = model.description();
  check_options(description);
  const training::ModelOptions& options = description.options;
  const tasks::TaskShape& task = description.task;
  // Throws if the loss does not fit the task.
  const training::Loss checked(loss, task);
  ModelShape shape;
  shape.options = options;
  shape.samples = samples;
  shape.length = task.length + (options.embedding.cls_token ? 1 : 0);
  shape.features = task.features;
  shape.vocabulary = task.vocabulary;
  if (options.embedding.positions == attention::Positions::kSinusoidal) {
    const auto position_encoding = attention::sinusoidal_encoding(
        shape.length, options.width, options.embedding.position_scale);
    shape.position_encoding.assign(position_encoding.data(),
                                   position_encoding.data() + position_encoding.size());
  }
  for (Index l = 0; l < options.layers; ++l)
    shape.blocks.push_back(device_block(description, l, shape.length));
  shape.outputs = model.outputs();
  shape.label_sets = task.answer == tasks::Answer::kLabels;
  shape.loss = loss;
  shape.loss.kind = checked.kind();
  shape.tolerance = task.tolerance;
  const attention::ParameterList& list = model.parameters();
  visit_parameters(shape,
                   [&](const std::string& name, Index rows, Index cols, ParameterSlot& place) {
                     const attention::Parameter& p = list.find(name);
                     require(p.rows == rows && p.cols == cols,
                             "training on a device: {} is {} x {}, not {} x {}",
                             name,
                             p.rows,
                             p.cols,
                             rows,
                             cols);
                     place = p;
                   });
  shape.parameters = list.size();
  return shape;
}

template ModelShape device_model(const training::Model<float>&,
                                 const training::LossOptions&,
                                 Index);
template ModelShape device_model(const training::Model<double>&,
                                 const training::LossOptions&,
                                 Index);

template <class T>
PackedBatch<T>::PackedBatch(const ModelShape& model)
    : options_(model.options),
      length_(model.length - (model.options.embedding.cls_token ? 1 : 0)),
      features_of_token_(model.features),
      vocabulary_(model.vocabulary),
      classes_(model.loss.kind == training::LossKind::kSquared ? 0 : model.outputs),
      label_sets_(model.label_sets) {}

template <class T>
void PackedBatch<T>::check(const tasks::Sample& sample) const {
  const auto tokens = static_cast<Index>(sample.tokens.size());
  const auto numbers = static_cast<Index>(sample.features.size());
  const Index n = vocabulary_ > 0 ? tokens : numbers / features_of_token_;
  require(n == length_ && (vocabulary_ > 0 ? numbers == 0 : numbers % features_of_token_ == 0),
          "training on a device: a sample of {} tokens and {} features; all samples must have {} "
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
  if (label_sets_) {
    require(std::ssize(sample.labels) == classes_,
            "training on a device: {} labels; the task has {}",
            sample.labels.size(),
            classes_);
    for (const std::int32_t label : sample.labels)
      require(label == 0 || label == 1, "training on a device: a label is {}, not 0 or 1", label);
    return;
  }
  require(classes_ == 0 || (sample.label >= 0 && sample.label < classes_),
          "training on a device: label {} is outside 0..{}",
          sample.label,
          classes_ - 1);
}

/// Appends rows of padding, up to the length of the batch's sequences.
template <class T>
void PackedBatch<T>::add_padding(Index rows) {
  tokens_.insert(tokens_.end(), static_cast<std::size_t>(rows), 0);
  mask_.insert(mask_.end(), static_cast<std::size_t>(rows), 0);
  if (options_.embedding.segments > 0)
    segment_of_row_.insert(segment_of_row_.end(), static_cast<std::size_t>(rows), 0);
  masked_ = masked_ || rows > 0;
}

/// Appends the segments of a sequence of tokens.
template <class T>
void PackedBatch<T>::add_segments(std::span<const std::int32_t> tokens, Index rows) {
  std::int32_t segment = 0;
  if (options_.embedding.cls_token) segment_of_row_.push_back(segment);
  for (Index i = 0; i < rows; ++i) {
    segment_of_row_.push_back(segment);
    const bool ends = options_.embedding.segment_separator >= 0 &&
                      tokens[static_cast<std::size_t>(i)] == options_.embedding.segment_separator;
    if (ends && segment + 1 < options_.embedding.segments) ++segment;
  }
}

/// Appends the sequence of tokens begin .. end - 1 of a sample, or all of a sample of features. A
/// text without tokens is padding only, including the row of its cls_token.
template <class T>
void PackedBatch<T>::add_sequence(const tasks::Sample& sample, Index begin, Index end) {
  if (options_.embedding.cls_token) {
    features_.insert(features_.end(), static_cast<std::size_t>(features_of_token_), T(0));
    if (vocabulary_ > 0) tokens_.push_back(0);
    mask_.push_back(begin < end ? 1 : 0);
  }
  features_.insert(features_.end(), sample.features.begin(), sample.features.end());
  const std::span<const std::int32_t> all(sample.tokens);
  const auto tokens = vocabulary_ > 0 ? all.subspan(static_cast<std::size_t>(begin),
                                                    static_cast<std::size_t>(end - begin))
                                      : all;
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  if (options_.embedding.segments > 0) add_segments(tokens, end - begin);
  if (sample.mask.empty()) {
    mask_.insert(mask_.end(), static_cast<std::size_t>(end - begin), 1);
  } else {
    mask_.insert(mask_.end(), sample.mask.begin() + begin, sample.mask.begin() + end);
    masked_ = true;
  }
  if (end - begin < length_) add_padding(length_ - (end - begin));
}

template <class T>
void PackedBatch<T>::add_texts(const tasks::Sample& sample) {
  const attention::Mask mask = sample.mask;
  Index first = 0;
  while (first < length_ &&
         (sample.tokens[static_cast<std::size_t>(first)] != options_.pair_separator ||
          !attention::is_token(mask, first))) {
    ++first;
  }
  if (first == length_) {
    const bool empty = std::all_of(mask.begin(), mask.end(), [](auto token) { return token == 0; });
    require(empty && !mask.empty(),
            "training on a device: a sample has no token {} (pair_separator) between two texts",
            options_.pair_separator);
    add_sequence(sample, 0, 0);
    add_sequence(sample, 0, 0);
    return;
  }
  add_sequence(sample, 0, first);
  add_sequence(sample, first + 1, length_);
}

template <class T>
void PackedBatch<T>::add(const tasks::Sample& sample) {
  check(sample);
  if (options_.pair_separator >= 0) {
    add_texts(sample);
  } else {
    add_sequence(sample, 0, length_);
  }
  numbers_.push_back(sample.number);
  if (label_sets_) {
    labels_.insert(labels_.end(), sample.labels.begin(), sample.labels.end());
  } else {
    labels_.push_back(sample.label);
  }
  ++samples_;
}

template <class T>
void PackedBatch<T>::clear() {
  features_.clear();
  tokens_.clear();
  segment_of_row_.clear();
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
  batch.segments = segment_of_row_.data();
  batch.mask = masked_ ? mask_.data() : nullptr;
  batch.numbers = numbers_.data();
  batch.labels = labels_.data();
  return batch;
}

template class PackedBatch<float>;
template class PackedBatch<double>;

}  // namespace matapprox::cuda
