#pragma once

namespace matapprox::mpi::test {

/// Messages that this process has sent by MPI_Isend since the program began. All rows and values of
/// neighbors are sent this way; commands, sums and the data that the leader distributes use other
/// functions.
struct SentMessages {
  long long messages = 0;
  long long bytes = 0;
};
const SentMessages& sent_messages();

}  // namespace matapprox::mpi::test
