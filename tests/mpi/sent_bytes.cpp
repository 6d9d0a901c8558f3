#include "mpi/sent_bytes.hpp"

#include <mpi.h>

namespace matapprox::mpi::test {
namespace {

SentMessages sent;

}  // namespace

const SentMessages& sent_messages() { return sent; }

}  // namespace matapprox::mpi::test

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
  ++matapprox::mpi::test::sent.messages;
  matapprox::mpi::test::sent.bytes += static_cast<long long>(bytes) * count;
  return PMPI_Isend(numbers, count, type, to, tag, comm, request);
}
