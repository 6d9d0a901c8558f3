#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdlib>

#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {

/// Sets one thread; MATAPPROX_THREADS=n sets more, MATAPPROX_INSTRUCTIONS an instruction set.
inline void use_threads() {
  if (const char* name = std::getenv("MATAPPROX_INSTRUCTIONS"); name != nullptr) {
    kernels::use_instruction_set(name);
  }
  const char* text = std::getenv("MATAPPROX_THREADS");
  set_threads(text == nullptr ? 1 : std::max(1, std::atoi(text)));
}

/// Reports a rate per second: `name` is "flop/s" or "bytes/s".
inline void count_rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] = benchmark::Counter(per_iteration * static_cast<double>(state.iterations()),
                                            benchmark::Counter::kIsRate);
}

}  // namespace matapprox
