#pragma once

#include <mpi.h>

#include <vector>

namespace matapprox {

/// What this process has sent by MPI_Isend, by which all rows and values of neighbors travel, since
/// the program began; commands, sums and what the leader deals go by other functions.
struct SentMessages {
  long long messages = 0;
  long long bytes = 0;
};
const SentMessages& sent_messages();

/// Bytes that each process has sent so. All processes call it together, all get it.
std::vector<long long> bytes_sent_by_each(MPI_Comm comm);

}  // namespace matapprox
