#pragma once

#include <mpi.h>

namespace matapprox {

/// What one process can do while all of them do the same: the machine of the cost model in
/// docs/distributed.md.
struct MachineRates {
  double latency = 0;        ///< seconds that a message of 8 bytes takes, first to last process
  double message_bytes = 1;  ///< a second, sent to a neighbor while as many come from another
  double memory_bytes = 1;   ///< a second, read and written in y += a x, beyond the caches
  double flops = 1;          ///< a second, in a product of matrices within the cache
  /// A second, written to memory that the system gives then. Not in the model, whose steps keep
  /// their memory: it says what those cost that do not.
  double new_memory_bytes = 1;
};

/// Medians of a few repetitions, each as long as the slowest process takes. All processes call it
/// together, all get it. Memory: 256 MiB a process.
MachineRates measure_rates(MPI_Comm comm);

}  // namespace matapprox
