#pragma once

#include <functional>
#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Bytes that this process may still allocate: MemAvailable of the system, or less if a control
/// group or a limit of the process (ulimit -v, -d) leaves less. 0 if unknown.
Index available_memory_bytes();

/// Largest resident size of this process since its start or the last reset; 0 if unknown.
Index peak_memory_bytes();
/// Resets the peak to the current size, if the system allows it (Linux clear_refs).
void reset_peak_memory();

/// Throws NotAvailable, naming `what` and both figures, if fewer than `bytes` bytes are available.
/// Does nothing if the available memory is unknown.
void require_memory(double bytes, const std::string& what);

/// Sets the number of threads that the library may use from now on, at least 1. Default: all CPUs
/// that the process may run on. Results are bit-identical for any number of threads.
void set_threads(int count);
int threads();

/// Calls body(0) .. body(count-1), each once, spread over threads() threads in any order; nested
/// calls run in the calling thread. The first exception thrown by a body is rethrown here.
void parallel_for(Index count, const std::function<void(Index)>& body);

}  // namespace matapprox
