#pragma once

// Enumerations of options that the layers, the training and its GPU kernels share. This header
// includes nothing, so that nvcc need not compile the headers of the layers.

namespace matapprox::attention {

enum class BlockKind { kPostNorm, kPreNorm, kBare };
enum class Pool { kFlatten, kCls, kMean, kMax, kMaxMean, kNone };
enum class SimpletronScale { kNone, kInverseSqrtLength, kInverseLength };

}  // namespace matapprox::attention

namespace matapprox::training {

enum class LossKind { kAuto, kSquared, kCrossEntropy, kBinaryCrossEntropy };
enum class OptimizerKind { kAdam, kAdamW, kSgd };

}  // namespace matapprox::training
