#pragma once

#include "model_shape.hpp"
#include "token_gradient.hpp"

namespace matapprox::cuda {

/// The inputs of a batch in the memory of a queue, uploaded once per batch.
template <class T, class Queue>
class BatchInputs {
 public:
  BatchInputs(const Queue& queue, const ModelShape& model)
      : queue_(&queue),
        samples_(model.samples),
        sequences_(model.sequences()),
        length_(model.length),
        feature_numbers_(model.rows() * model.features),
        vocabulary_(model.vocabulary),
        label_numbers_(samples_ * (model.label_sets ? model.outputs : 1)),
        cls_token_(model.options.embedding.cls_token),
        squared_(model.loss.kind == LossKind::kSquared),
        features_(queue.template array<T>(feature_numbers_)),
        tokens_(queue.template array<std::int32_t>(vocabulary_ > 0 ? model.rows() : 0)),
        order_(queue, vocabulary_ > 0 ? model.rows() : 0, vocabulary_),
        segments_(queue.template array<std::int32_t>(
            model.options.embedding.segments > 0 ? model.rows() : 0)),
        segment_order_(queue, segments_.size(), model.options.embedding.segments),
        mask_(queue.template array<std::uint8_t>(model.rows())),
        read_(queue.template array<std::uint8_t>(cls_token_ ? model.rows() : 0)),
        shares_(queue.template array<T>(sequences_)),
        numbers_(queue.template array<double>(squared_ ? samples_ : 0)),
        labels_(queue.template array<std::int32_t>(squared_ ? 0 : label_numbers_)) {}

  /// Copies the batch to the queue's memory. The host's arrays may change when this returns.
  void upload(const HostBatch<T>& batch) {
    const Index rows = sequences_ * length_;
    std::vector<std::uint8_t> read;
    if (cls_token_) {
      for (Index r = 0; r < rows; ++r)
        read.push_back(is_token(batch.mask, r) && r % length_ != 0 ? 1 : 0);
      queue_->upload(read.data(), rows, read_.data());
    }
    if (vocabulary_ > 0) {
      queue_->upload(batch.tokens, rows, tokens_.data());
      order_.upload(
          order_tokens(batch.tokens, cls_token_ ? read.data() : batch.mask, rows, vocabulary_));
    } else {
      queue_->upload(batch.features, feature_numbers_, features_.data());
    }
    if (segments_.size() > 0) {
      queue_->upload(batch.segments, rows, segments_.data());
      segment_order_.upload(
          order_tokens(batch.segments, batch.mask, rows, segment_order_.vocabulary()));
    }
    has_mask_ = batch.mask != nullptr;
    if (has_mask_) queue_->upload(batch.mask, rows, mask_.data());
    const std::vector<T> shares = shares_of(batch.mask);
    queue_->upload(shares.data(), sequences_, shares_.data());
    if (squared_) {
      queue_->upload(batch.numbers, samples_, numbers_.data());
    } else {
      queue_->upload(batch.labels, label_numbers_, labels_.data());
    }
  }

  const T* features() const { return features_.data(); }
  const std::int32_t* tokens() const { return tokens_.data(); }
  const TokenOrderOnQueue<Queue>& order() const { return order_; }
  const std::int32_t* segments() const { return segments_.data(); }
  const TokenOrderOnQueue<Queue>& segment_order() const { return segment_order_; }
  const std::uint8_t* mask() const { return has_mask_ ? mask_.data() : nullptr; }
  /// The mask without the rows of a cls_token, which are not part of the sample.
  const std::uint8_t* read_mask() const { return cls_token_ ? read_.data() : mask(); }
  const T* shares() const { return shares_.data(); }
  const double* numbers() const { return numbers_.data(); }
  const std::int32_t* labels() const { return labels_.data(); }

 private:
  template <class Number>
  using Array = decltype(std::declval<const Queue&>().template array<Number>(0));

  /// Returns 1 / the number of tokens of each sequence, or 0 for a sequence without tokens.
  std::vector<T> shares_of(const std::uint8_t* mask) const {
    std::vector<T> shares;
    for (Index s = 0; s < sequences_; ++s) {
      Index count = 0;
      for (Index i = 0; i < length_; ++i) count += is_token(mask, s * length_ + i) ? 1 : 0;
      shares.push_back(count == 0 ? T(0) : static_cast<T>(1.0 / static_cast<double>(count)));
    }
    return shares;
  }

  const Queue* queue_;
  Index samples_;
  Index sequences_;
  Index length_;
  Index feature_numbers_;
  Index vocabulary_;
  Index label_numbers_;
  bool cls_token_;
  bool squared_;
  bool has_mask_ = false;
  Array<T> features_;
  Array<std::int32_t> tokens_;
  TokenOrderOnQueue<Queue> order_;
  Array<std::int32_t> segments_;
  TokenOrderOnQueue<Queue> segment_order_;
  Array<std::uint8_t> mask_;
  Array<std::uint8_t> read_;
  Array<T> shares_;
  Array<double> numbers_;
  Array<std::int32_t> labels_;
};

}  // namespace matapprox::cuda
