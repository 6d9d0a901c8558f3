#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "functions.hpp"

namespace matapprox::cuda {

using Index = std::int64_t;

/// The position of a thread in a grid.
struct GridPosition {
  Index block;
  int thread;
};

// A kernel is a struct of its arguments with
//
//   kThreads                  threads per block
//   Index blocks() const      blocks of the grid
//   struct SharedMemory       numbers that the threads of a block share
//   struct Registers          numbers of one thread
//   void begin(GridPosition, Registers&) const                            may be left out
//   int steps(GridPosition) const          the same for all threads of a block
//   void fill(GridPosition, int step, SharedMemory&, Registers&) const    writes shared memory
//   void use(GridPosition, int step, SharedMemory&, Registers&) const     reads shared memory
//   void end(GridPosition, const Registers&) const                        may be left out
//
// The threads of a block synchronize between fill and use, and between use and the next fill;
// nowhere else. Within a phase, no thread reads data that another one writes, in shared memory or
// elsewhere. Therefore results do not depend on the order in which threads run, nor on whether a
// GPU or the host runs them. Shared memory and registers are uninitialized; on the host they are
// NaN. A kernel without shared memory is a struct with
//
//   kThreads, Index blocks() const, void operator()(GridPosition) const.

/// The order in which the host runs the threads of a block, and the blocks. A result that depends
/// on it is a defect of the kernel.
enum class HostOrder { kForward, kBackward };

template <class Kernel>
concept PhasedKernel = requires {
  typename Kernel::SharedMemory;
};
template <class Kernel>
concept HasBegin = requires {
  &Kernel::begin;
};
template <class Kernel>
concept HasEnd = requires {
  &Kernel::end;
};

inline Index in_order(HostOrder order, Index i, Index count) {
  return order == HostOrder::kForward ? i : count - 1 - i;
}

/// Fills memory with NaN in every floating-point number (all bits are 1), so that a kernel that
/// reads unwritten memory is detected. On a GPU, such memory has arbitrary contents.
template <class T>
void fill_unwritten(T* values, std::size_t count) {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>);
  if (count > 0) std::memset(values, 0xFF, count * sizeof(T));
}

/// Runs a kernel on the host, one thread after the other: for tests, not for speed.
template <class Kernel>
void run_on_host(const Kernel& kernel, HostOrder order = HostOrder::kForward) {
  const Index blocks = kernel.blocks();
  const auto each_thread = [&](const auto& body) {
    for (Index t = 0; t < Kernel::kThreads; ++t)
      body(static_cast<int>(in_order(order, t, Kernel::kThreads)));
  };
  for (Index b = 0; b < blocks; ++b) {
    const Index block = in_order(order, b, blocks);
    if constexpr (PhasedKernel<Kernel>) {
      const auto shared = std::make_unique<typename Kernel::SharedMemory>();
      std::vector<typename Kernel::Registers> locals(Kernel::kThreads);
      fill_unwritten(shared.get(), 1);
      fill_unwritten(locals.data(), locals.size());
      const auto local = [&](int t) ->
          typename Kernel::Registers& { return locals[static_cast<std::size_t>(t)]; };
      if constexpr (HasBegin<Kernel>)
        each_thread([&](int t) { kernel.begin({block, t}, local(t)); });
      const int steps = kernel.steps({block, 0});
      for (int s = 0; s < steps; ++s) {
        each_thread([&](int t) { kernel.fill({block, t}, s, *shared, local(t)); });
        each_thread([&](int t) { kernel.use({block, t}, s, *shared, local(t)); });
      }
      if constexpr (HasEnd<Kernel>) each_thread([&](int t) { kernel.end({block, t}, local(t)); });
    } else {
      each_thread([&](int t) { kernel({block, t}); });
    }
  }
}

MATAPPROX_HD constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

}  // namespace matapprox::cuda
