#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace matapprox {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Median of the values that the calls return; for an even number, the upper of the two middle
/// ones.
inline double median_of(int calls, const std::function<double()>& seconds) {
  std::vector<double> all(static_cast<std::size_t>(calls));
  std::ranges::generate(all, seconds);
  const auto middle = all.begin() + calls / 2;
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

/// Peak memory of each process so far, in bytes. All processes call it together, and all get the
/// result.
std::vector<long long> memory_peaks(MPI_Comm comm);

/// Rates of one process while all processes do the same: the machine of the cost model in
/// docs/distributed.md.
struct MachineRates {
  double latency = 0;        ///< seconds per message of 8 bytes, first to last process
  double message_bytes = 1;  ///< per second, sent to a neighbor while as many arrive from another
  double memory_bytes = 1;   ///< per second, read and written in y += a x, beyond the caches
  double flops = 1;          ///< per second, in a product of matrices within the cache
  /// Bytes per second written to memory newly obtained from the system. Not in the model, whose
  /// steps reuse their memory; shows the cost of steps that do not.
  double new_memory_bytes = 1;
};

/// Medians of a few repetitions, each timed by the slowest process. All processes call it together,
/// and all get the result. Memory: 256 MiB per process.
MachineRates measure_rates(MPI_Comm comm);

}  // namespace matapprox
