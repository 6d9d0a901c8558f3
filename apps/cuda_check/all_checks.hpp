#pragma once

#include "checker.hpp"
#include "chord_checks.hpp"
#include "chord_objective_checks.hpp"
#include "gemm_checks.hpp"
#include "kernel_checks.hpp"
#include "model_checks.hpp"
#include "psf_checks.hpp"
#include "softmax_checks.hpp"
#include "sums_checks.hpp"
#include "training_checks.hpp"

namespace matapprox::cuda {

/// Checks that copies of all lengths go to the queue and back unchanged, even though the host's
/// numbers change right after the upload.
template <class Queue>
void check_transfers(Checker<Queue>& check) {
  std::vector<std::vector<float>> sent;
  std::vector<decltype(check.template zeros<float>(0))> arrays;
  // Short copies, some that share a buffer, and one that takes several buffers and a part.
  for (const Index count : {1, 3, 1000, 4000000, 5, 9000007, 65536, 7}) {
    auto numbers = test_numbers<float>(count, static_cast<std::uint64_t>(count));
    sent.push_back(numbers);
    auto& array = arrays.emplace_back(check.queue().template array<float>(count));
    check.queue().upload(numbers.data(), count, array.data());
    std::fill(numbers.begin(), numbers.end(), -2.0F);
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    check.expect_equal(
        check.numbers(arrays[i]), sent[i], text("a copy of %zu numbers", sent[i].size()));
  }
}

/// Checks the kernels for numbers of type T.
template <class T, class Queue>
void check_precision_of(Checker<Queue>& check) {
  check_chord<T>(check);
  check_multi_vector<T>(check);
  check_kernels<T>(check);
  check_block_layout<T>(check);
  check_gemm<T>(check);
  check_sums<T>(check);
  check_psf<T>(check);
}

template <class Queue>
void check_all(const Queue& queue, Results& results) {
  Checker<Queue> check(queue, results);
  check_transfers(check);
  check_precision_of<float>(check);
  check_precision_of<double>(check);
  check_chord_objective(check);
  check_numbers(check);
  check_softmax(check);
  check_training(check);
  check_models(check);
}

}  // namespace matapprox::cuda
