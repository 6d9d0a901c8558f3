#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

struct BigBirdOptions {
  Index block = 64;         ///< tokens of a block
  Index random_blocks = 3;  ///< a query block meets beside its neighbors and the global ones
  bool output_projection = true;
  void visit(OptionVisitor& v);
};

/// BigBird: softmax attention over blocks of keys. A block of queries meets the block before it,
/// itself, the block after it, the first and the last block, and a few random others; the first and
/// the last block meet all. [ZGD+20, Sec. 2 and App. D]
///
/// A block that is met for two reasons counts once. The random blocks depend on the seed, the
/// layer, the head and the block only; at a length below `shape.length` those beyond its end fall
/// away. At most 2 (5 + r) b d N multiplications away from the two global rows, 4 d^2 N beside.
/// Causal: yes, each row then sees what comes before it in the blocks it meets.
template <class T>
std::unique_ptr<Attention<T>> bigbird(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const BigBirdOptions& options = {});

}  // namespace matapprox::attention
