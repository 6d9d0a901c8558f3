#pragma once

#include <mpi.h>

#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// An MPI datatype of several numbers, for messages with more numbers than an int can count.
class NumberType {
 public:
  /// `width` contiguous numbers.
  static NumberType row(Index width);
  /// `columns` columns of `rows` numbers, with `apart` numbers from one start to the next.
  static NumberType columns(Index rows, Index columns, Index apart);
  ~NumberType();
  NumberType(NumberType&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  NumberType(const NumberType&) = delete;
  NumberType& operator=(const NumberType&) = delete;
  NumberType& operator=(NumberType&&) = delete;
  MPI_Datatype get() const { return type_; }

 private:
  NumberType() = default;

  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Messages of one tag that a process sends and receives at the same time. Their memory must exist
/// until wait().
class Messages {
 public:
  Messages(const Process& process, int tag) : process_(process), tag_(tag) {}

  /// Starts to receive `count` elements, at most as many as an int can count.
  void receive(int from, void* to, Index count, MPI_Datatype type);
  /// Starts to send them.
  void send(int to, const void* from, Index count, MPI_Datatype type);
  /// Waits until all messages have been sent and received.
  void wait();
  /// Makes room for this many messages.
  void reserve(std::size_t messages) { requests_.reserve(messages); }

 private:
  const Process& process_;
  int tag_;
  std::vector<MPI_Request> requests_;
};

/// Sends bytes to another process, which receives as many: in several messages if they are more
/// than an int can count.
void send(const Process& process, int to, int tag, const void* bytes, Index count);
void receive(const Process& process, int from, int tag, void* bytes, Index count);

}  // namespace matapprox::mpi
