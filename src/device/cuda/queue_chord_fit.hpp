#pragma once

#include "device/cuda/chord_targets.hpp"
#include "device/cuda/gpu_chord_fit.hpp"
#include "device/cuda/queue_blocks.hpp"

namespace matapprox::cuda {

/// A fit and the memory of its vectors, on one queue.
template <class Queue, class Guard>
class QueueChordFit final : public GpuChordFit {
 public:
  using Blocks = QueueBlocks<Queue, Guard>;

  /// `free`: bytes, of which panels take a quarter at most and a target from the host a half.
  QueueChordFit(std::shared_ptr<const Blocks> blocks,
                const ChordShape& shape,
                Index most_columns,
                const ChordSource& source,
                Index free)
      : blocks_(std::move(blocks)),
        fit_(blocks_->queue(),
             shape,
             most_columns,
             free / 4,
             make_target_panels(
                 blocks_->queue(), shape.order, source, fits_whole(shape, most_columns, free))) {}

  std::shared_ptr<const GpuBlocks> blocks() const override { return blocks_; }

  double evaluate(const Index* columns,
                  Index count,
                  const double* values,
                  double* gradient) override {
    double f = 0;
    blocks_->guarded()([&] { f = fit_.evaluate(columns, count, values, gradient); });
    return f;
  }

 private:
  static bool fits_whole(const ChordShape& shape, Index most_columns, Index free) {
    return most_columns >= shape.order && shape.order <= free / 16 / shape.order;
  }

  std::shared_ptr<const Blocks> blocks_;
  ChordFit<Queue> fit_;
};

}  // namespace matapprox::cuda
