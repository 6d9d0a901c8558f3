#pragma once

#include <mpi.h>

#include <vector>

namespace matapprox {

/// Messages that this process has sent by MPI_Isend since the program began. All rows and values of
/// neighbors are sent this way; commands, sums and the data that the leader distributes use other
/// functions.
struct SentMessages {
  long long messages = 0;
  long long bytes = 0;
};
const SentMessages& sent_messages();

/// Bytes that each process has sent this way. All processes call it together, and all get the
/// result.
std::vector<long long> bytes_sent_by_each(MPI_Comm comm);

}  // namespace matapprox
