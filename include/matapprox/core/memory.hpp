#pragma once

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

}  // namespace matapprox
