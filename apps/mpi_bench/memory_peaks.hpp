#pragma once

#include <mpi.h>

#include <vector>

namespace matapprox {

/// The peak of each process's memory so far, in bytes; all call it together, all get it.
std::vector<long long> memory_peaks(MPI_Comm comm);

}  // namespace matapprox
