#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct ListopsOptions {
  Index length = 1000;      ///< N, 8..65536; samples are padded to it
  Index min_length = 500;   ///< a tree has more tokens than this
  Index max_length = 0;     ///< a tree has fewer tokens than this, at most N; 0: N
  Index max_depth = 10;     ///< 2..32; the root has depth 1, and a digit counts
  Index max_children = 10;  ///< children of an operator, 2..64
  void visit(OptionVisitor& v);
};

/// ListOps: nested lists such as [MAX 2 9 [MIN 4 7] 0], whose value is the class, 0..9. [NB18] The
/// trees have the distribution of the Long Range Arena [TDA+21]: a node is a digit with probability
/// 3/4, or else MIN, MAX, MED or SM with 2..max_children children, all equally likely; nodes of
/// depth max_depth are digits; trees outside the lengths are redrawn (defaults of the arena: 500 <
/// tokens < 2000).
///
/// MED is the median, the mean of the middle two rounded down; SM is the sum modulo 10. Ids: digits
/// 0..9, MIN 10, MAX 11, MED 12, SM 13 (each with its bracket), ']' 14, padding 15, which is
/// masked. One tree in 22 fits the default lengths, one in 12 the arena's; a sample takes about 0.1
/// ms. Throws InvalidArgument for options outside their range, and in make if none of 2^20 trees
/// fits.
std::unique_ptr<Task> listops_task(const ListopsOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
