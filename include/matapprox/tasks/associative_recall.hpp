#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct AssociativeRecallOptions {
  Index length = 64;  ///< N, 3..2^24
  Index pairs = 8;    ///< number of pairs, 1..(N - 1)/2; 0: (N - 1)/2, rounded down
  Index keys = 32;    ///< number of different keys, from `pairs` to 2^24
  Index values = 8;   ///< number of different values, 2..32768
  void visit(OptionVisitor& v);
};

/// Associative recall: pairs of a key and the value right after it, at random positions among
/// blanks; the last token is one of the keys, and its value is the answer. [BHM+16]
///
/// Ids: values 0 .. values - 1, then the keys, then the blank. The keys of a sample differ; values
/// may repeat. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> associative_recall_task(const AssociativeRecallOptions& options,
                                              std::uint64_t seed);

}  // namespace matapprox::tasks
