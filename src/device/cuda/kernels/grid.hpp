#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "host_device.hpp"

namespace matapprox::cuda {

using Index = std::int64_t;

/// Which thread of a grid this is.
struct GridPosition {
  Index block;
  int thread;
};

// A kernel is a struct of its arguments with
//
//   kThreads                  threads of a block
//   Index blocks() const      blocks of the grid
//   struct SharedMemory       numbers that the threads of a block share
//   struct Registers          numbers of one thread
//   void begin(GridPosition, Registers&) const
//   int steps(GridPosition) const          the same for all threads of a block
//   void fill(GridPosition, int step, SharedMemory&, Registers&) const    writes shared memory
//   void use(GridPosition, int step, SharedMemory&, Registers&) const     reads shared memory
//   void end(GridPosition, const Registers&) const
//
// Between fill and use, and between use and the next fill, the threads of a block wait for each
// other; nowhere else. Within a phase, no thread reads what another one writes, in shared memory or
// elsewhere: then the order in which threads run cannot be seen, and neither can it be whether a
// GPU runs them or the host. Shared memory and registers begin with anything, on the host with NaN.
// A kernel without shared numbers is a struct with
//
//   kThreads, Index blocks() const, void operator()(GridPosition) const.

/// In which order the host runs the threads of a block, and the blocks: a result that depends on it
/// is a defect of the kernel.
enum class HostOrder { kForward, kBackward };

template <class Kernel>
concept PhasedKernel = requires {
  typename Kernel::SharedMemory;
};

inline Index in_order(HostOrder order, Index i, Index count) {
  return order == HostOrder::kForward ? i : count - 1 - i;
}

/// What no one has written is anything on a GPU; here it is NaN in every floating-point number
/// (all bits are 1), so that a kernel which reads it first shows.
template <class T>
void fill_unwritten(T* values, std::size_t count) {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_copyable_v<T>);
  if (count > 0) std::memset(values, 0xFF, count * sizeof(T));
}

/// Runs a kernel on the host, thread after thread: for tests, not for speed.
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
      each_thread([&](int t) { kernel.begin({block, t}, local(t)); });
      const int steps = kernel.steps({block, 0});
      for (int s = 0; s < steps; ++s) {
        each_thread([&](int t) { kernel.fill({block, t}, s, *shared, local(t)); });
        each_thread([&](int t) { kernel.use({block, t}, s, *shared, local(t)); });
      }
      each_thread([&](int t) { kernel.end({block, t}, local(t)); });
    } else {
      each_thread([&](int t) { kernel({block, t}); });
    }
  }
}

MATAPPROX_HD constexpr Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

}  // namespace matapprox::cuda
