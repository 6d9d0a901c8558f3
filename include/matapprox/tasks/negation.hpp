#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct NegationOptions {
  Index length = 64;      ///< N, from 1 + opinions (min_gap + 1) to 2^24
  Index opinions = 3;     ///< opinion words in a text, 1..1023, odd; if balanced, 2..1024, even
  Index negations = 1;    ///< number of negations, at most `opinions`; if balanced, odd
  bool balanced = false;  ///< equally many good and bad words; else each is random
  Index min_gap = 1;      ///< smallest distance of a negation and the opinion that it reverses
  Index max_gap = 0;      ///< largest distance, at least min_gap; 0: up to the previous opinion
  Index words = 4;        ///< number of different good words, and of bad ones, 1..32768
  Index fillers = 16;     ///< number of different words without an opinion, 1..32768
  void visit(OptionVisitor& v);
};

/// Reviews with negations: is a text positive or negative? A text has good and bad words among
/// fillers; a negation reverses the next opinion word after it, at any distance. Class 1: more good
/// opinions than bad ones result.
///
/// Ids: 0 the start of the text, 1 the negation, then good words, bad words, fillers. The first
/// token is the same in all texts. The positions of opinion words, which of them are good and which
/// are reversed are drawn independently. Hence only the relation of a negation to an opinion
/// carries more information about the class than the numbers of good and bad words. The information
/// in these numbers is known exactly; in balanced texts it is zero. Throws InvalidArgument for
/// options outside their range.
std::unique_ptr<Task> negation_task(const NegationOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
