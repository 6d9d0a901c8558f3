#pragma once

#include <mpi.h>

#include <vector>

namespace matapprox {

/// Peak memory of each process so far, in bytes. All processes call it together, and all get the
/// result.
std::vector<long long> memory_peaks(MPI_Comm comm);

}  // namespace matapprox
