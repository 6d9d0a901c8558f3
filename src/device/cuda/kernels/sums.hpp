#pragma once

#include "grid.hpp"

namespace matapprox::cuda {

/// The sum of one number per thread of a block, in pairs, then pairs of pairs: the same order on a
/// GPU and on the host. For kernels with kThreads threads.
template <int kThreads, class T = double>
struct BlockSum {
  static_assert((kThreads & (kThreads - 1)) == 0);
  struct SharedMemory {
    T parts[static_cast<std::size_t>(kThreads)];
  };
  static MATAPPROX_HD constexpr int steps() {
    int steps = 0;
    for (int width = kThreads; width > 1; width /= 2) ++steps;
    return steps;
  }
  static MATAPPROX_HD void fill(int thread, int step, SharedMemory& shared, T sum) {
    if (thread < (kThreads >> step)) shared.parts[thread] = sum;
  }
  static MATAPPROX_HD void use(int thread, int step, const SharedMemory& shared, T& sum) {
    const int half = kThreads >> (step + 1);
    if (thread < half) sum += shared.parts[thread + half];
  }
};

/// Numbers that each thread sums before the threads of its block combine their sums.
inline constexpr Index kNumbersPerThread = 16;

/// The sum, in double, of element.add(i, element.read(i)) for i in 0..size-1: parts[b] is that of
/// block b. `add` may change the data that `read` has read for the same i. A thread reads all of
/// its data before it changes any, so that its reads need not wait for each other.
template <class Element>
struct PartialSums {
  static constexpr int kThreads = 256;
  static constexpr Index kNumbersPerBlock = kThreads * kNumbersPerThread;
  using Sum = BlockSum<kThreads>;
  using SharedMemory = typename Sum::SharedMemory;
  struct Registers {
    double sum;
  };

  Element element;
  Index size = 0;
  double* parts = nullptr;

  Index blocks() const { return ceil_div(size, kNumbersPerBlock); }
  MATAPPROX_HD int steps(GridPosition) const { return Sum::steps(); }
  MATAPPROX_HD void begin(GridPosition place, Registers& own) const {
    own.sum = 0;
    const Index first = place.block * kNumbersPerBlock + place.thread;
    decltype(element.read(first)) numbers[static_cast<std::size_t>(kNumbersPerThread)];
    MATAPPROX_UNROLL
    for (Index k = 0; k < kNumbersPerThread; ++k) {
      const Index i = first + k * kThreads;
      if (i < size) numbers[k] = element.read(i);
    }
    MATAPPROX_UNROLL
    for (Index k = 0; k < kNumbersPerThread; ++k) {
      const Index i = first + k * kThreads;
      if (i < size) own.sum += element.add(i, numbers[k]);
    }
  }
  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Sum::fill(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Sum::use(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void end(GridPosition place, const Registers& own) const {
    if (place.thread == 0) parts[place.block] = own.sum;
  }
};

/// Computes *result = the sum of `count` parts, in one block.
struct SumOfParts {
  static constexpr int kThreads = 256;
  using Sum = BlockSum<kThreads>;
  using SharedMemory = Sum::SharedMemory;
  struct Registers {
    double sum;
  };

  const double* parts = nullptr;
  Index count = 0;
  double* result = nullptr;

  Index blocks() const { return 1; }
  MATAPPROX_HD int steps(GridPosition) const { return Sum::steps(); }
  MATAPPROX_HD void begin(GridPosition place, Registers& own) const {
    own.sum = 0;
    for (Index i = place.thread; i < count; i += kThreads) own.sum += parts[i];
  }
  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Sum::fill(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    Sum::use(place.thread, step, shared, own.sum);
  }
  MATAPPROX_HD void end(GridPosition place, const Registers& own) const {
    if (place.thread == 0) *result = own.sum;
  }
};

/// Returns the number of parts that `sum_elements` needs.
inline Index parts_of(Index size) { return ceil_div(size, Index{256} * kNumbersPerThread); }

/// Computes *result = the sum of the elements 0 .. size-1; `parts` has parts_of(size) numbers.
template <class Queue, class Element>
void sum_elements(
    const Queue& queue, const Element& element, Index size, double* parts, double* result) {
  PartialSums<Element> sums;
  sums.element = element;
  sums.size = size;
  sums.parts = parts;
  queue.run(sums);
  SumOfParts total;
  total.parts = parts;
  total.count = sums.blocks();
  total.result = result;
  queue.run(total);
}

}  // namespace matapprox::cuda
