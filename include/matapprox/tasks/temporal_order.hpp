#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct TemporalOrderOptions {
  Index length = 128;  ///< N, 2..2^24
  Index min_gap = 1;   ///< smallest distance of the two signals, 1..max_gap
  Index max_gap = 0;   ///< largest distance, below N; 0: N - 1
  void visit(OptionVisitor& v);
};

/// Temporal order: N token ids, noise a b c d = 0..3 except for two signals, each X = 4 or Y = 5;
/// the class is their order, XX 0, XY 1, YX 2, YY 3, all equally likely. [HS97], [KYCY22, Sect.
/// 5.2]
///
/// All pairs of positions whose distance is in the range are equally likely. Scores of single
/// tokens that depend on their position tell the classes apart, so a model whose head reads all
/// positions needs no attention for it. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> temporal_order_task(const TemporalOrderOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
