#pragma once

#include "chord_checks.hpp"
#include "gemm_checks.hpp"

namespace matapprox::cuda {

template <class Queue>
void check_all(const Queue& queue, Results& results) {
  Checker<Queue> check(queue, results);
  check_chord(check);
  check_gemm(check);
}

}  // namespace matapprox::cuda
