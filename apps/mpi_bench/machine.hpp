#pragma once

#include <mpi.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace matapprox {

/// Median of the values that the calls return; for an even number, the upper of the two middle
/// ones.
double median_of(int calls, const std::function<double()>& seconds);

/// Peak memory of each process so far, in bytes. All processes call it together, and all get the
/// result.
std::vector<long long> memory_peaks(MPI_Comm comm);

/// Rates of one process while all processes do the same: the machine of the cost model in
/// docs/distributed.md. Medians of a few repetitions, each timed by the slowest process. All
/// processes call it together, and all get the result. Memory: 256 MiB per process.
///
///   latency_seconds            of a message of 8 bytes, first to last process; one process: 0
///   message_bytes_per_second   sent to a neighbor while as many arrive from another; one process:
///   1 memory_bytes_per_second    read and written in y += a x, beyond the caches flops_per_second
///   in a product of matrices within the cache new_memory_bytes_per_second  written to memory newly
///   obtained from the system; not in the
///                              model, whose steps reuse their memory
nlohmann::json measure_rates(MPI_Comm comm);

}  // namespace matapprox
