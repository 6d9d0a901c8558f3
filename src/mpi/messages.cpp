#include "mpi/messages.hpp"

#include <algorithm>

namespace matapprox::mpi {
namespace {

constexpr Index kMaxBytes = Index{1} << 30;

/// Calls function(first, count) for pieces of `bytes` bytes.
void in_pieces(Index bytes, const auto& function) {
  for (Index first = 0; first < bytes; first += kMaxBytes)
    function(first, static_cast<int>(std::min(kMaxBytes, bytes - first)));
}

}  // namespace

NumberType NumberType::row(Index width) {
  NumberType result;
  MPI_Type_contiguous(static_cast<int>(width), MPI_DOUBLE, &result.type_);
  MPI_Type_commit(&result.type_);
  return result;
}

NumberType NumberType::columns(Index rows, Index columns, Index apart) {
  NumberType column = row(rows);
  NumberType result;
  MPI_Type_create_hvector(static_cast<int>(columns),
                          1,
                          static_cast<MPI_Aint>(apart * Index{sizeof(double)}),
                          column.type_,
                          &result.type_);
  MPI_Type_commit(&result.type_);
  return result;
}

NumberType::~NumberType() {
  if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

void Messages::receive(int from, void* to, Index count, MPI_Datatype type) {
  MPI_Request& request = requests_.emplace_back();
  MPI_Irecv(to, static_cast<int>(count), type, from, tag_, process_.comm(), &request);
}

void Messages::send(int to, const void* from, Index count, MPI_Datatype type) {
  MPI_Request& request = requests_.emplace_back();
  MPI_Isend(from, static_cast<int>(count), type, to, tag_, process_.comm(), &request);
}

void Messages::wait() {
  MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  requests_.clear();
}

void send(const Process& process, int to, int tag, const void* bytes, Index count) {
  in_pieces(count, [&](Index first, int length) {
    const auto* begin = static_cast<const std::byte*>(bytes) + first;
    MPI_Send(begin, length, MPI_BYTE, to, tag, process.comm());
  });
}

void receive(const Process& process, int from, int tag, void* bytes, Index count) {
  in_pieces(count, [&](Index first, int length) {
    auto* begin = static_cast<std::byte*>(bytes) + first;
    MPI_Recv(begin, length, MPI_BYTE, from, tag, process.comm(), MPI_STATUS_IGNORE);
  });
}

}  // namespace matapprox::mpi
