#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct MatchingOptions {
  Index length = 64;   ///< N, even, from 2 `keys` + 2 to 2^24
  Index keys = 4;      ///< key words in each of the two texts, 2..1024
  Index words = 32;    ///< number of different key words, from 2 `keys` - 1 to 32768
  Index fillers = 16;  ///< number of different other words, 1..32768
  void visit(OptionVisitor& v);
};

/// Pairs of texts: do both name the same thing? After the start token come two texts of the same
/// length with a separator between them, each with `keys` key words among fillers. One key word
/// occurs twice, the others once: class 1 if it occurs in both texts, class 0 if it occurs twice in
/// one of them, the first or the second.
///
/// Ids: 0 the start, 1 the separator, then key words, then fillers. Word counts carry no
/// information about the class; one text alone shows only if it has a key word twice. A stand-in
/// for the retrieval task of the Long Range Arena [TDA+21], similar in kind only. Throws
/// InvalidArgument for options outside their range.
std::unique_ptr<Task> matching_task(const MatchingOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
