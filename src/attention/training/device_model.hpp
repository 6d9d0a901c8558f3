#pragma once

#include <span>

#include "attention/cuda/kernels/model_training.hpp"
#include "matapprox/attention/training/model.hpp"
#include "matapprox/attention/training/scores.hpp"

namespace matapprox::cuda {

/// Returns the shape of a model for the device's kernels, for batches of `samples` samples, with
/// parameters at the offsets of the model's own list. Throws NotAvailable, naming the option, for
/// what the device does not support (docs/cuda.md has the table).
template <class T>
ModelShape device_model(const training::Model<T>& model,
                        const training::LossOptions& loss,
                        Index samples);

/// Samples one after the other, in the layout of the device.
template <class T>
class PackedBatch {
 public:
  explicit PackedBatch(const ModelShape& model);
  /// Appends a sample. Throws InvalidArgument if it does not fit the model; all samples have its
  /// length.
  void add(const tasks::Sample& sample);
  void clear();
  Index samples() const { return samples_; }
  HostBatch<T> host() const;

 private:
  void check(const tasks::Sample& sample) const;
  void add_padding(Index rows);
  void add_segments(std::span<const std::int32_t> tokens, Index rows);
  void add_sequence(const tasks::Sample& sample, Index begin, Index end);
  void add_texts(const tasks::Sample& sample);

  training::ModelOptions options_;
  Index length_;  ///< tokens of a sample
  Index features_of_token_;
  Index vocabulary_;
  Index classes_;  ///< 0: the answer is a number
  bool label_sets_;
  Index samples_ = 0;
  bool masked_ = false;  ///< a sample has padding
  std::vector<T> features_;
  std::vector<std::int32_t> tokens_;
  std::vector<std::int32_t> segment_of_row_;
  std::vector<std::uint8_t> mask_;
  std::vector<double> numbers_;
  std::vector<std::int32_t> labels_;
};

}  // namespace matapprox::cuda
