#pragma once

#include <mpi.h>

#include <functional>
#include <utility>
#include <vector>

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

/// The distribution of the rows of a tall block over the processes: each process has a contiguous
/// range of rows, possibly empty. The values of a Chord chain are the rows of one factor after the
/// other; each process has a contiguous range of rows of each factor.
class Layout {
 public:
  /// Process p has the rows begins[p] .. begins[p + 1] - 1; begins[0] is 0. Throws InvalidArgument
  /// if they descend, NotAvailable for more than 2^31 - 1 rows, which MPI cannot count.
  explicit Layout(std::vector<Index> begins);
  /// The block is a sequence of stretches, one for each of `widths`. In stretch s, each row counted
  /// by `begins` stands for widths[s] rows of the block.
  Layout(std::vector<Index> begins, std::vector<Index> widths);

  const std::vector<Index>& begins() const { return begins_; }
  const std::vector<Index>& widths() const { return widths_; }
  Index rows() const { return begins_.back() * width_; }
  Index count(int process) const { return (begin(process + 1) - begin(process)) * width_; }

  // For blocks with one stretch of width 1 only.
  Index first(int process) const { return begin(process); }
  /// Returns the process that has this row.
  int owner(Index row) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Index begin(int process) const { return begins_[static_cast<std::size_t>(process)]; }

  std::vector<Index> begins_;
  std::vector<Index> widths_;
  Index width_;  ///< sum of the widths
};

/// Distributes the rows evenly; the first processes have one more if there is a remainder.
Layout even_layout(Index rows, int processes);
/// Distributes the work as evenly as whole rows allow; row i takes weights[i] >= 0.
Layout weighted_layout(const std::vector<Index>& weights, int processes);

/// Reserved addresses for `count` numbers, aligned to a page, which take no memory by themselves.
class ReservedNumbers {
 public:
  enum class Use {
    kAsNames,  ///< pointer arithmetic works; reading or writing ends the program
    kSparsely  ///< zeros at first; a page takes memory from its first access on
  };

  ReservedNumbers() = default;
  /// Throws NotAvailable if the system has no addresses left.
  ReservedNumbers(Index count, Use use);
  ~ReservedNumbers();
  ReservedNumbers(ReservedNumbers&& other) noexcept { swap(other); }
  ReservedNumbers& operator=(ReservedNumbers&& other) noexcept {
    swap(other);
    return *this;
  }
  ReservedNumbers(const ReservedNumbers&) = delete;
  ReservedNumbers& operator=(const ReservedNumbers&) = delete;

  double* data() const { return data_; }

 private:
  void swap(ReservedNumbers& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  double* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace matapprox::mpi
