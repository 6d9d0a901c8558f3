#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct CopyOptions {
  Index length = 64;         ///< N, 3..2^24
  Index string_length = 10;  ///< s, 1..(N - 1)/2; 0: (N - 1)/2, rounded down
  Index symbols = 8;         ///< number of different symbols, 2..32768
  void visit(OptionVisitor& v);
};

/// Copying from memory: s random symbols, N - 2 s - 1 blanks, a delimiter, s blanks; the answers at
/// the last s tokens are the symbols in their order. [HS97], [ASB16]
///
/// Ids: symbols 0 .. symbols - 1, then the blank and the delimiter. Every symbol is N - s tokens
/// away from its answer. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> copy_task(const CopyOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
