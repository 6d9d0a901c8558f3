#pragma once

#include <cstddef>
#include <string>

// Options of models and of their training, shared by the layers, the CPU's training step and the
// kernels of the GPU's. This header does not include Eigen, so that nvcc can compile the kernels
// without it. Functions and names of the options are declared beside the classes that use them.

namespace matapprox {

using Index = std::ptrdiff_t;  ///< the same type as in core/types.hpp
class OptionVisitor;

}  // namespace matapprox

namespace matapprox::attention {

enum class BlockKind { kPostNorm, kPreNorm, kBare };
enum class Pool { kFlatten, kCls, kMean, kMax, kMaxMean, kNone };
enum class Positions { kNone, kLearned, kSinusoidal };
enum class SimpletronScale { kNone, kInverseSqrtLength, kInverseLength };

inline constexpr double kNormEpsilon = 1e-5;  ///< default of the epsilon of a LayerNorm

struct BlockOptions {
  BlockKind kind = BlockKind::kPostNorm;
  Index feed_forward = 4;              ///< hidden width of F over d; 0: no F
  double dropout = 0;                  ///< dropout rate of A and of F
  bool inner_skip = false;             ///< A(X) + X in place of A(X)
  bool outer_skip = false;             ///< X is added to the block's result
  double norm_epsilon = kNormEpsilon;  ///< added to the variances of norms
  void visit(OptionVisitor& v);
};

struct EmbeddingOptions {
  Positions positions = Positions::kNone;
  double position_scale = 1;  ///< factor of sinusoidal positions; 1/3 in Singularformer's code
  double init_std = 1;        ///< standard deviation of a token's vector at the start
  bool norm = false;          ///< a LayerNorm follows; the caller creates it, as it needs a cache
  bool cls_token = false;     ///< a learned vector in front of the sequence
  Index segments = 0;         ///< rows of a table, one of which is added to each token; 0: no table
  Index segment_separator = -1;  ///< token that ends a segment; -1: all tokens are in the first one
  void visit(OptionVisitor& v);
};

/// Position of a parameter in the block of all parameters: rows x cols numbers, row-major.
struct ParameterSlot {
  Index offset = 0;
  Index rows = 0;
  Index cols = 0;
  Index size() const { return rows * cols; }
};

}  // namespace matapprox::attention

namespace matapprox::training {

enum class HeadKind { kLinear, kMlp };
enum class LossKind { kAuto, kSquared, kCrossEntropy, kBinaryCrossEntropy };
enum class OptimizerKind { kAdam, kAdamW, kSgd };
enum class Schedule { kConstant, kLinear, kInverseSqrt, kCosine };

struct ModelOptions {
  std::string attention = "psf";  ///< name of the mechanism
  Index width = 32;               ///< d, width of a token
  Index heads = 1;
  Index layers = 1;
  bool causal = false;
  double attention_dropout = 0;  ///< dropout rate of attention probabilities, if they are formed
  attention::BlockOptions block;
  double embedding_dropout = 0;
  bool final_norm = true;  ///< a norm after the last pre_norm block
  attention::EmbeddingOptions embedding;
  attention::Pool pool = attention::Pool::kMean;  ///< for tasks with one answer per sample
  Index pair_separator = -1;                      ///< token between two texts; -1: one text
  HeadKind head = HeadKind::kLinear;              ///< mlp: Linear - GELU - Linear
  Index head_hidden = 0;    ///< hidden width of mlp; 0: the width of its input
  bool pooler = false;      ///< Linear - tanh between pool and head
  double head_dropout = 0;  ///< dropout rate of the head's input
  void visit(OptionVisitor& v);
};

struct LossOptions {
  LossKind kind = LossKind::kAuto;  ///< squared for numbers, cross entropy for classes, binary
                                    ///< cross entropy for sets of labels
  double label_smoothing = 0;       ///< fraction of the answer spread over all classes
  void visit(OptionVisitor& v);
};

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 1e-3;  ///< maximum of the schedule
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;        ///< momentum for sgd
  double weight_decay = 0;      ///< adam, sgd: added to the gradient; adamw: applied separately
  double clip = 0;              ///< largest norm of the whole gradient; 0: no limit
  double embedding_factor = 1;  ///< factor of the learning rate for parameters embedding.*
  Schedule schedule = Schedule::kConstant;
  Index warmup = 0;  ///< number of steps of linear increase from 0
  void visit(OptionVisitor& v);
};

/// A range of parameters, begin..end-1, that is trained at `factor` times the learning rate.
struct TrainedPart {
  Index begin = 0;
  Index end = 0;
  double factor = 1;
};

}  // namespace matapprox::training
