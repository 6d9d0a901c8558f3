#pragma once

#include <mpi.h>

#include <functional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/stop_scope.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// One failure for all processes: the error of the first one that failed, with the process's number
/// before its message. No exchange is under way when it is thrown.
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
  /// Throws it as the type of error that it was: std::runtime_error for one that is not ours.
  [[noreturn]] void throw_as_it_was() const;

 private:
  Kind kind_;
};

/// This process among those of a communicator. The first leads: what a function says of the leader
/// is of process 0. Unless it says otherwise, all processes call a function together; an error of
/// MPI ends them all.
class Process {
 public:
  /// Works on a copy of the communicator. Throws NotAvailable unless MPI was started with
  /// MPI_THREAD_SERIALIZED at least.
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

  /// Each process works for itself. If that fails anywhere, AgreedFailure is thrown everywhere.
  void agree(const std::function<void()>& work) const;
  /// The leader's bytes to all.
  void broadcast(void* bytes, Index count) const { broadcast_from(0, bytes, count); }
  /// Throws AgreedFailure (Interrupted) if the leader's caller asks to stop: between the panels of
  /// a product that may take minutes.
  void stop_if_asked() const;
  /// Whom stop_if_asked() asks on the leader from here on, which calls it alone; null: nobody.
  void set_asking(const StopScope* scope) const { asking_ = scope; }
  /// The sums over all processes, which the leader then has; the others lose their numbers. Pairs
  /// of processes are added, then pairs of pairs: the same bits each time.
  void sum_to_leader(double* numbers, Index count) const { sum_to(0, numbers, count); }
  /// The same for another process.
  void sum_to(int process, double* numbers, Index count) const;
  /// Ends all processes; any one may call it.
  [[noreturn]] void abort(const char* why) const;

 private:
  void broadcast_from(int process, void* bytes, Index count) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  mutable const StopScope* asking_ = nullptr;
};

/// Processes of the communicator on this machine, which share its CPUs and memory.
int processes_of_machine(MPI_Comm comm);

}  // namespace matapprox::mpi
