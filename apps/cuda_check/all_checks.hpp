#pragma once

#include "bench_checks.hpp"
#include "chord_checks.hpp"
#include "chord_objective_checks.hpp"
#include "gemm_checks.hpp"
#include "kernel_checks.hpp"
#include "model_checks.hpp"
#include "psf_checks.hpp"
#include "softmax_checks.hpp"
#include "sums_checks.hpp"
#include "training_checks.hpp"
#include "transfer_checks.hpp"

namespace matapprox::cuda {

template <class Queue>
void check_all(const Queue& queue, Results& results) {
  Checker<Queue> check(queue, results);
  check_transfers(check);
  check_chord(check);
  check_chord_objective(check);
  check_kernels(check);
  check_gemm(check);
  check_sums(check);
  check_psf(check);
  check_softmax(check);
  check_training(check);
  check_models(check);
  check_bench(check);
}

}  // namespace matapprox::cuda
