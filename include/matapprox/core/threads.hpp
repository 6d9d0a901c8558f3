#pragma once

#include <functional>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Sets the number of threads that the library may use from now on, at least 1. Default: all CPUs
/// that the process may run on. Results are bit-identical for any number of threads.
void set_threads(int count);
int threads();

/// Calls body(0) .. body(count-1), each once, spread over threads() threads in any order; nested
/// calls run in the calling thread. The first exception thrown by a body is rethrown here.
void parallel_for(Index count, const std::function<void(Index)>& body);

}  // namespace matapprox
