#include "mpi/process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <vector>

#include "matapprox/core/visible_text.hpp"

namespace matapprox::mpi {
namespace {

/// MPI counts the elements of a message in int.
constexpr Index kMaxCount = Index{1} << 30;

/// A failure as it is sent between processes.
struct Message {
  AgreedFailure::Kind kind = AgreedFailure::Kind::kDefect;
  std::array<char, 1000> text{};
};

Message message_of(AgreedFailure::Kind kind, const std::string& text) {
  Message message{kind, {}};
  std::copy_n(text.begin(), std::min(text.size(), message.text.size() - 1), message.text.begin());
  return message;
}

Message message_of(const std::exception_ptr& failure, const std::string& who) {
  using enum AgreedFailure::Kind;
  try {
    std::rethrow_exception(failure);
  } catch (const InvalidArgument& error) {
    return message_of(kInvalidArgument, who + error.what());
  } catch (const FileError& error) {
    return message_of(kFile, who + error.what());
  } catch (const NumericalError& error) {
    return message_of(kNumerical, who + error.what());
  } catch (const NotAvailable& error) {
    return message_of(kNotAvailable, who + error.what());
  } catch (const Interrupted& error) {
    return message_of(kInterrupted, error.what());  // the caller's request, not a process's
  } catch (const std::bad_alloc&) {
    return message_of(kNotAvailable, who + "out of memory");
  } catch (const std::exception& error) {
    return message_of(kDefect, who + error.what());
  } catch (...) {
    return message_of(kDefect, who + "an unknown error");
  }
}

}  // namespace

void AgreedFailure::throw_as_it_was() const {
  switch (kind_) {
    case Kind::kInvalidArgument:
      throw InvalidArgument(what());
    case Kind::kFile:
      throw FileError(what());
    case Kind::kNumerical:
      throw NumericalError(what());
    case Kind::kNotAvailable:
      throw NotAvailable(what());
    case Kind::kInterrupted:
      throw Interrupted(what());
    case Kind::kDefect:
      break;
  }
  throw std::runtime_error(what());
}

Process::Process(MPI_Comm comm) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Query_thread(&provided);
  if (provided < MPI_THREAD_SERIALIZED)
    throw NotAvailable("mpi: MPI must be initialized with MPI_THREAD_SERIALIZED or higher");
  MPI_Comm_dup(comm, &comm_);
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);  // the caller's handler may differ
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
}

Process::~Process() { MPI_Comm_free(&comm_); }

void Process::agree(const std::function<void()>& work) const {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  int first = failure ? rank_ : size_;
  MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_);
  if (first == size_) return;
  Message message;
  if (rank_ == first) {
    const std::string who = size_ == 1 ? "" : fmt::format("process {} of {}: ", rank_, size_);
    message = message_of(failure, who);
  }
  broadcast_from(first, &message, sizeof message);
  throw AgreedFailure(message.kind, message.text.data());
}

void Process::broadcast_from(int process, void* bytes, Index count) const {
  for (Index at = 0; at < count; at += kMaxCount) {
    const auto length = static_cast<int>(std::min(kMaxCount, count - at));
    MPI_Bcast(static_cast<std::byte*>(bytes) + at, length, MPI_BYTE, process, comm_);
  }
}

void Process::throw_if_stop_requested() const {
  agree([&] {
    const JoinStopScope asked(leads() ? asking_ : nullptr);
    matapprox::throw_if_stop_requested();
  });
}

void Process::sum_to(int process, double* numbers, Index count) const {
  constexpr int kTag = 1;
  constexpr Index kNumbers = Index{1} << 17;  // one megabyte per message
  // Places are ranks relative to the process that gets the sums.
  const int place = (rank_ - process + size_) % size_;
  const auto at_place = [&](int other) { return (other + process) % size_; };
  std::vector<double> other;
  for (Index at = 0; at < count; at += kNumbers) {
    const auto length = static_cast<int>(std::min(kNumbers, count - at));
    for (int step = 1; step < size_; step *= 2) {
      if ((place & step) != 0) {
        MPI_Send(numbers + at, length, MPI_DOUBLE, at_place(place - step), kTag, comm_);
        break;
      }
      if (place + step >= size_) continue;
      other.resize(static_cast<std::size_t>(length));
      MPI_Recv(
          other.data(), length, MPI_DOUBLE, at_place(place + step), kTag, comm_, MPI_STATUS_IGNORE);
      for (int i = 0; i < length; ++i) numbers[at + i] += other[static_cast<std::size_t>(i)];
    }
  }
}

void Process::abort(const char* why) const {
  const std::string line = fmt::format(
      "matapprox: process {} of {} aborts all processes: {}\n", rank_, size_, visible_text(why));
  std::fputs(line.c_str(), stderr);
  MPI_Abort(comm_, EXIT_FAILURE);
  std::abort();
}

int processes_of_machine(MPI_Comm comm) {
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
  int processes = 1;
  MPI_Comm_size(machine, &processes);
  MPI_Comm_free(&machine);
  return processes;
}

}  // namespace matapprox::mpi
