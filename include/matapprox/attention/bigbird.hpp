#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

struct BigBirdOptions {
  Index block = 64;         ///< tokens per block
  Index random_blocks = 3;  ///< per query block, besides its neighbors and the global ones
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// BigBird: softmax attention over blocks of keys. A block of queries attends to the block before
/// it, itself, the block after it, the first and the last block, and a few random others; the first
/// and the last block attend to all. [ZGD+20, Sec. 2 and App. D]
///
/// A block that is selected for two reasons counts once. The random blocks depend only on the seed,
/// the layer, the head and the block; at a length below `shape.length` those beyond its end are
/// omitted. At most 2 (5 + r) b d N multiplications without the two global rows, plus 4 d^2 N.
/// Causal: yes, each row then sees only the earlier tokens of these blocks.
template <class T>
std::unique_ptr<Attention<T>> bigbird(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const BigBirdOptions& options = {});

}  // namespace matapprox::attention
