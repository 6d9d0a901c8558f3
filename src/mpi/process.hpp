#pragma once

#include <mpi.h>

#include <functional>
#include <iterator>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// A failure common to all processes: the error of the first process that failed, with the number
/// of that process before its message. No exchange is in progress when it is thrown.
class AgreedFailure : public Error {
 public:
  enum class Kind : int {
    kInvalidArgument,
    kFile,
    kNumerical,
    kNotAvailable,
    kInterrupted,
    kDefect
  };
  AgreedFailure(Kind kind, const std::string& message) : Error(message), kind_(kind) {}
  /// Throws the error with its original type: std::runtime_error if it was not one of ours.
  [[noreturn]] void throw_as_it_was() const;

 private:
  Kind kind_;
};

/// One process of a communicator. Process 0 is the leader. Unless a function says otherwise, all
/// processes call it together. An MPI error ends all of them.
class Process {
 public:
  /// Works on a duplicate of the communicator. Throws NotAvailable unless MPI was started with at
  /// least MPI_THREAD_SERIALIZED.
  explicit Process(MPI_Comm comm);
  ~Process();
  Process(const Process&) = delete;
  Process(Process&&) = delete;
  Process& operator=(const Process&) = delete;
  Process& operator=(Process&&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  bool leads() const { return rank_ == 0; }

  /// Runs `work` on each process. If it throws on any process, AgreedFailure is thrown on all.
  void agree(const std::function<void()>& work) const;
  /// Sends the leader's bytes to all processes.
  void broadcast(void* bytes, Index count) const { broadcast_from(0, bytes, count); }
  /// Sends the leader's string or vector to all processes, with its size. Throws AgreedFailure if a
  /// process runs out of memory.
  template <class Sequence>
  void broadcast(Sequence& values) const {
    Index count = std::ssize(values);
    broadcast(&count, sizeof count);
    agree([&] { values.resize(static_cast<std::size_t>(count)); });
    broadcast(values.data(), count * Index{sizeof(values[0])});
  }
  /// Throws AgreedFailure (Interrupted) if the leader's caller asks to stop. Called between the
  /// panels of a product that may take minutes.
  void throw_if_stop_requested() const;
  /// Sets the stop token that throw_if_stop_requested() polls; null for none. Called only by the
  /// leader.
  void set_asking(const StopScope* scope) const { asking_ = scope; }
  /// Sums numbers over all processes; the leader gets the sums, the others' numbers are
  /// overwritten. Adds pairs of processes, then pairs of pairs, so the bits are the same each time.
  void sum_to_leader(double* numbers, Index count) const { sum_to(0, numbers, count); }
  /// The same with the sums on another process.
  void sum_to(int process, double* numbers, Index count) const;
  /// Ends all processes; a single process may call it.
  [[noreturn]] void abort(const char* why) const;

 private:
  void broadcast_from(int process, void* bytes, Index count) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  mutable const StopScope* asking_ = nullptr;
};

/// Returns the number of the communicator's processes that share this machine's CPUs and memory.
int processes_of_machine(MPI_Comm comm);

}  // namespace matapprox::mpi
