#pragma once

#include <span>

#include "attention/cuda/kernels/model_training.hpp"
#include "matapprox/training/model.hpp"
#include "matapprox/training/trainer.hpp"

namespace matapprox::cuda {

/// A model as the device's kernels take it, for batches of `samples` samples, with parameters where
/// the model's own list has them. Throws NotAvailable, naming the option, for what the device does
/// not do (docs/cuda.md has the table).
template <class T>
ModelShape device_model(const training::Model<T>& model,
                        const training::LossOptions& loss,
                        Index samples);

/// The optimizer's settings; `list` says which parameters are trained. The learning rate comes with
/// each step.
StepSettings device_settings(const training::OptimizerOptions& options,
                             const attention::ParameterList& list);

/// The learning rate of step t = 1..steps.
double learning_rate(const training::OptimizerOptions& options, Index step, Index steps);

/// Samples one after the other, as the device takes them.
template <class T>
class PackedBatch {
 public:
  explicit PackedBatch(const ModelShape& model);
  /// The next sample. Throws InvalidArgument for one that does not fit the model; all samples have
  /// its length.
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

  Index length_;  ///< of a sample
  bool cls_token_;
  Index features_of_token_;
  Index vocabulary_;
  Index segments_;
  Index segment_separator_;
  Index pair_separator_;
  Index classes_;  ///< 0: a number is asked
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
