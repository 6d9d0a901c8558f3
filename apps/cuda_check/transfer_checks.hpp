#pragma once

#include "checker.hpp"

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
    check.expect_equal(check.numbers(arrays[i].data(), arrays[i].size()),
                       sent[i],
                       "a copy of " + std::to_string(sent[i].size()) + " numbers");
  }
}

}  // namespace matapprox::cuda
