#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct NegationOptions {
  Index length = 128;   ///< N, from 1 + opinions (min_gap + 1) to 2^24
  Index opinions = 2;   ///< words of opinion in a text, even: half of them good; 2..1024
  Index negations = 1;  ///< odd, at most `opinions`
  Index min_gap = 1;    ///< least distance of a negation and the opinion that it turns
  Index max_gap = 0;    ///< largest distance, from min_gap; 0: up to the opinion before
  Index words = 8;      ///< different good words, and as many bad ones; 1..32768
  Index fillers = 64;   ///< different words without an opinion, 1..32768
  void visit(OptionVisitor& v);
};

/// Reviews with negations: does a text speak well or ill of its subject? A text has as many good
/// words as bad ones among fillers; a negation turns the next word of opinion behind it, however
/// far away that is. Class 1: more good opinions than bad ones are left.
///
/// Ids: 0 the start of the text, 1 the negation, then good words, bad words, fillers. The first
/// token is the same in all texts. Where the words of opinion stand, which of them are good and
/// which are turned is drawn independently, so that neither the number of each word nor where the
/// opinions stand says anything about the class: whoever does not relate a negation to an opinion
/// is right as often as the majority class. Throws InvalidArgument for options outside their range.
std::unique_ptr<Task> negation_task(const NegationOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
