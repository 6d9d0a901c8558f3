#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Bytes that this process may still take: MemAvailable of the system, less where a control group
/// or a limit of the process (ulimit -v, -d) is lower. 0 if the system does not tell.
Index available_memory_bytes();

/// Largest resident size of this process since its start or the last reset; 0 if unknown.
Index peak_memory_bytes();
/// Starts the peak anew at the present size, where the system allows it (Linux clear_refs).
void reset_peak_memory();

/// Throws NotAvailable, with both figures, if `bytes` (rounded up, for `what`) are not available.
void require_memory(double bytes, const std::string& what);

}  // namespace matapprox
