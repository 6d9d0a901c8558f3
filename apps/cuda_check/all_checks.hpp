#pragma once

#include "chord_checks.hpp"
#include "chord_objective_checks.hpp"
#include "kernel_checks.hpp"

namespace matapprox::cuda {

template <class Queue>
void check_all(const Queue& queue, Results& results) {
  Checker<Queue> check(queue, results);
  check_chord(check);
  check_chord_objective(check);
  check_kernels(check);
}

}  // namespace matapprox::cuda
