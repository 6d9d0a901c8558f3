#include "sent_bytes.hpp"

namespace matapprox {
namespace {

SentMessages sent;

}  // namespace

const SentMessages& sent_messages() { return sent; }

std::vector<long long> bytes_sent_by_each(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  std::vector<long long> all(static_cast<std::size_t>(size));
  MPI_Allgather(&sent.bytes, 1, MPI_LONG_LONG, all.data(), 1, MPI_LONG_LONG, comm);
  return all;
}

}  // namespace matapprox

// Replaces MPI's own function, which it calls.
extern "C" int MPI_Isend(const void* numbers,
                         int count,
                         MPI_Datatype type,
                         int to,
                         int tag,
                         MPI_Comm comm,
                         MPI_Request* request) {
  MPI_Count bytes = 0;  // for a column type possibly beyond int
  MPI_Type_size_x(type, &bytes);
  ++matapprox::sent.messages;
  matapprox::sent.bytes += static_cast<long long>(bytes) * count;
  return PMPI_Isend(numbers, count, type, to, tag, comm, request);
}
