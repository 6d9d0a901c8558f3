#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

struct NegationOptions {
  Index length = 64;      ///< N, from 1 + opinions (min_gap + 1) to 2^24
  Index opinions = 3;     ///< words of opinion in a text, 1..1023, odd; if balanced, 2..1024, even
  Index negations = 1;    ///< at most `opinions`; if balanced, odd
  bool balanced = false;  ///< as many good words as bad ones, else each is good or bad as likely
  Index min_gap = 1;      ///< least distance of a negation and the opinion that it turns
  Index max_gap = 0;      ///< largest distance, from min_gap; 0: up to the opinion before
  Index words = 4;        ///< different good words, and as many bad ones; 1..32768
  Index fillers = 16;     ///< different words without an opinion, 1..32768
  void visit(OptionVisitor& v);
};

/// Reviews with negations: does a text speak well or ill of its subject? A text has good and bad
/// words among fillers; a negation turns the next word of opinion behind it, however far away that
/// is. Class 1: more good opinions than bad ones are left.
///
/// Ids: 0 the start of the text, 1 the negation, then good words, bad words, fillers. The first
/// token is the same in all texts. Where the words of opinion stand, which of them are good and
/// which are turned is drawn independently, so that nothing but the relation of a negation to an
/// opinion says more about the class than the numbers of good and of bad words. What these say is
/// known exactly; in balanced texts, nothing. Throws InvalidArgument for options outside their
/// range.
std::unique_ptr<Task> negation_task(const NegationOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
