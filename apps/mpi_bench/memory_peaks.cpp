#include "memory_peaks.hpp"

#include <sys/resource.h>

namespace matapprox {

std::vector<long long> memory_peaks(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  long long own = 1024LL * usage.ru_maxrss;
  std::vector<long long> all(static_cast<std::size_t>(size));
  MPI_Allgather(&own, 1, MPI_LONG_LONG, all.data(), 1, MPI_LONG_LONG, comm);
  return all;
}

}  // namespace matapprox
