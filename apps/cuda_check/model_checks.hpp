#pragma once

#include "training_checks.hpp"

namespace matapprox::cuda {

/// A complete model with two blocks of several heads.
inline ModelShape block_model(HeadMechanism kind, BlockKind form, Index length) {
  ModelShape model;
  model.samples = 3;
  model.length = length;
  model.options.width = 6;
  model.features = 2;
  for (Index l = 0; l < 2; ++l) {
    MultiHeadShape heads;
    heads.kind = kind;
    heads.width = 6;
    heads.heads = 2;
    heads.layer = l;
    heads.tile = 64;
    heads.rank = 5;
    heads.features = 7;
    heads.scale = SimpletronScale::kInverseSqrtLength;
    BlockShape block;
    block.attention = heads;
    block.options.kind = form;
    block.number = l;
    block.width = 6;
    block.options.feed_forward = 2;
    model.blocks.push_back(block);
  }
  return model;
}

template <class Queue>
void check_mechanisms(Checker<Queue>& check) {
  const auto check_of = [&](const ModelShape& model, const std::string& name) {
    check_gradient(check, model, true, name + ", N = " + std::to_string(model.length));
  };
  ModelShape model = block_model(HeadMechanism::kSoftmax, BlockKind::kPostNorm, 13);
  check_of(model, "softmax");
  for (BlockShape& block : model.blocks) {
    auto& heads = std::get<MultiHeadShape>(block.attention);
    heads.causal = true;
    heads.attention_dropout = 0.3;
    block.options.dropout = 0.2;
  }
  check_of(model, "softmax, causal, dropped");
  model = block_model(HeadMechanism::kLinformer, BlockKind::kPreNorm, 13);
  check_of(model, "linformer");
  for (BlockShape& block : model.blocks) {
    auto& heads = std::get<MultiHeadShape>(block.attention);
    heads.attention_dropout = 0.3;
    heads.mixtures_of_heads = true;
    heads.shared_by_layers = true;
    heads.tied = true;
    block.options.inner_skip = true;
    block.options.outer_skip = true;
    block.options.dropout = 0.2;
  }
  check_of(model, "linformer, shared");
  check_of(block_model(HeadMechanism::kLinearTransformer, BlockKind::kPostNorm, 13),
           "linear transformer");
  check_of(block_model(HeadMechanism::kPerformer, BlockKind::kPostNorm, 13), "performer");
  check_of(block_model(HeadMechanism::kSimpletron, BlockKind::kPreNorm, 13), "simpletron");
}

/// Checks embeddings, pools and heads, including those of BERT.
template <class Queue>
void check_heads(Checker<Queue>& check) {
  ModelShape model = block_model(HeadMechanism::kSoftmax, BlockKind::kPostNorm, 13);
  model.options.pool = Pool::kMax;
  check_gradient(check, model, true, "largest entries");
  model.options.pool = Pool::kMaxMean;
  model.options.head = training::HeadKind::kMlp;
  model.options.head_hidden = 5;
  model.options.head_dropout = 0.3;
  check_gradient(check, model, true, "largest entries and means");
  model.options.pair_separator = 0;
  model.options.pool = Pool::kMean;
  check_gradient(check, model, true, "two texts in a sample");
  model.options.pair_separator = -1;
  model.features = 0;
  model.vocabulary = 5;
  model.options.embedding.cls_token = true;
  model.options.embedding.segments = 3;
  model.options.embedding.positions = attention::Positions::kLearned;
  model.options.embedding.norm = true;
  model.options.embedding_dropout = 0.2;
  model.options.pool = Pool::kCls;
  model.options.pooler = true;
  model.loss.kind = LossKind::kBinaryCrossEntropy;
  model.outputs = 3;
  model.label_sets = true;
  model.loss.label_smoothing = 0.1;
  check_gradient(check, model, false, "first row, through a pooler");
}

/// Checks that a gradient has the same bits each time, and that it agrees in float and double.
template <class Queue>
void check_precision(Checker<Queue>& check) {
  ModelShape model = block_model(HeadMechanism::kSoftmax, BlockKind::kPostNorm, 13);
  for (BlockShape& block : model.blocks) {
    std::get<MultiHeadShape>(block.attention).attention_dropout = 0.3;
    block.options.dropout = 0.2;
  }
  assign_slots(model);
  const auto parameters = test_numbers<float>(model.parameters, 33);
  const auto gradient = [&](auto zero) {
    using T = decltype(zero);
    auto training = training_of<T>(check.queue(), model);
    const TestBatch<T> batch(model, true);
    training.upload(batch.host());
    const std::vector<T> start(parameters.begin(), parameters.end());
    training.set_parameters(start.data());
    training.run_gradient();
    std::vector<T> numbers(start.size());
    training.gradient(numbers.data());
    return numbers;
  };
  const auto in_float = gradient(0.0F);
  check.expect_equal(gradient(0.0F), in_float, "softmax, the gradient once more");
  check.expect_close(in_float, gradient(0.0), 1e-4, "softmax, gradient in float");
}

template <class Queue>
void check_random_words(Checker<Queue>& check) {
  // The check value of docs/random.md.
  const RandomWords words = random_words_of(1, 1, 0, 0);
  check.expect_equal(std::vector<std::uint32_t>(words.values, words.values + 4),
                     std::vector<std::uint32_t>{0x127BEE41, 0x1E047488, 0x48842B20, 0x0A393496},
                     "random words");
}

template <class Queue>
void check_models(Checker<Queue>& check) {
  check_random_words(check);
  check_mechanisms(check);
  check_heads(check);
  check_precision(check);
}

}  // namespace matapprox::cuda
