#pragma once

#include "chord_checks.hpp"

namespace matapprox::cuda {

template <class Queue>
void check_all(const Queue& queue, Results& results) {
  Checker<Queue> check(queue, results);
  check_chord(check);
}

}  // namespace matapprox::cuda
