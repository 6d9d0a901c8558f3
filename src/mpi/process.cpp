#include "mpi/process.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <numeric>
#include <vector>

#include "matapprox/core/require.hpp"
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

Layout::Layout(std::vector<Index> begins) : Layout(std::move(begins), {1}) {}

Layout::Layout(std::vector<Index> begins, std::vector<Index> widths)
    : begins_(std::move(begins)),
      widths_(std::move(widths)),
      width_(std::accumulate(widths_.begin(), widths_.end(), Index{0})) {
  require(!begins_.empty() && begins_.front() == 0 && std::ranges::is_sorted(begins_),
          "mpi: rows of processes must begin at 0 and ascend");
  constexpr Index kMaxRows = std::numeric_limits<int>::max();
  if (begins_.back() > kMaxRows)
    throw NotAvailable(fmt::format("mpi: {} rows are more than {}", begins_.back(), kMaxRows));
}

int Layout::owner(Index row) const {
  return static_cast<int>(std::ranges::upper_bound(begins_, row) - begins_.begin()) - 1;
}

Layout even_layout(Index rows, int processes) {
  std::vector<Index> begins(static_cast<std::size_t>(processes) + 1);
  const Index least = rows / processes;
  const Index more = rows % processes;
  for (Index p = 0; p <= processes; ++p)
    begins[static_cast<std::size_t>(p)] = p * least + std::min(p, more);
  return Layout(std::move(begins));
}

Layout weighted_layout(const std::vector<Index>& weights, int processes) {
  std::vector<Index> ends(weights.size());  // ends[i]: the work of rows 0 .. i
  std::inclusive_scan(weights.begin(), weights.end(), ends.begin());
  const Index total = ends.empty() ? 0 : ends.back();
  std::vector<Index> begins{0};
  for (Index p = 1; p < processes; ++p) {
    // total * p could overflow Index.
    const Index wanted = total / processes * p + total % processes * p / processes;
    const Index row = std::ranges::lower_bound(ends, wanted) - ends.begin() + 1;
    begins.push_back(std::clamp(row, begins.back(), std::ssize(weights)));
  }
  begins.push_back(std::ssize(weights));
  return Layout(std::move(begins));
}

ReservedNumbers::ReservedNumbers(Index count, Use use)
    : bytes_(sizeof(double) * static_cast<std::size_t>(std::max<Index>(count, 1))) {
  const int access = use == Use::kAsNames ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* address = mmap(nullptr, bytes_, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address != MAP_FAILED) {
    data_ = static_cast<double*>(address);
    return;
  }
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  throw NotAvailable(fmt::format(
      "mpi: no address space for a block of {:.3g} GB over all processes{}",
      static_cast<double>(bytes_) / 1e9,
      limit.rlim_cur == RLIM_INFINITY ? "" : "; `ulimit -v` forbids it: set it to unlimited"));
}

ReservedNumbers::~ReservedNumbers() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace matapprox::mpi
