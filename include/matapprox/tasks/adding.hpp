#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct AddingOptions {
  Index length = 128;  ///< N, 2..2^24
  Index min_gap = 1;   ///< smallest distance of the two marked positions, 1..max_gap
  Index max_gap = 0;   ///< largest distance, below N; 0: N - 1
  void visit(OptionVisitor& v);
};

/// The adding problem: N x 2 features (a, b) with a uniform in (-1, 1) and b = 1 at two positions t
/// and u, 0 elsewhere; the answer is y = 0.5 + (a_t + a_u) / 4, and an error of 0.04 or more is
/// wrong. [HS97], scaled as in [KYCY22, Sect. 5.2]
///
/// All pairs of positions whose distance is in the range are equally likely. y is a sum of
/// functions of single tokens, so a model whose head reads all positions needs no attention for it;
/// one that reads a single position does. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> adding_task(const AddingOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
