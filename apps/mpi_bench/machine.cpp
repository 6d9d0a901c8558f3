#include "machine.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "matapprox/core/types.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "mpi/reserved_numbers.hpp"

namespace matapprox {

double median_of(int calls, const std::function<double()>& seconds) {
  std::vector<double> all(calls);
  std::ranges::generate(all, seconds);
  const auto middle = all.begin() + calls / 2;
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

std::vector<long long> memory_peaks(MPI_Comm comm) {
  int size = 1;
  MPI_Comm_size(comm, &size);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  long long own = 1024LL * usage.ru_maxrss;
  std::vector<long long> all(size);
  MPI_Allgather(&own, 1, MPI_LONG_LONG, all.data(), 1, MPI_LONG_LONG, comm);
  return all;
}

namespace {

constexpr int kRepetitions = 7;
constexpr int kTag = 7;

/// Seconds of the slowest process.
double run_collectively(MPI_Comm comm, const std::function<void()>& work) {
  MPI_Barrier(comm);
  const double began = MPI_Wtime();
  work();
  double seconds = MPI_Wtime() - began;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  return seconds;
}

double median_together(MPI_Comm comm, const std::function<void()>& work) {
  run_collectively(comm, work);  // fills caches, opens connections
  return median_of(kRepetitions, [&] { return run_collectively(comm, work); });
}

/// Latency between the first and the last process; the others wait, as they do for a command.
double latency(MPI_Comm comm, int rank, int size) {
  constexpr int kMessages = 1000;
  const int other = rank == 0 ? size - 1 : 0;
  double number = 0;
  const double seconds = median_together(comm, [&] {
    if (rank != 0 && rank != size - 1) return;
    for (int i = 0; i < kMessages; ++i) {
      if ((i % 2 == 0) == (rank == 0)) {
        MPI_Send(&number, 1, MPI_DOUBLE, other, kTag, comm);
      } else {
        MPI_Recv(&number, 1, MPI_DOUBLE, other, kTag, comm, MPI_STATUS_IGNORE);
      }
    }
  });
  return seconds / kMessages;
}

double message_rate(MPI_Comm comm, int rank, int size) {
  constexpr int kNumbers = 1 << 22;
  std::vector<double> sent(kNumbers, 1.0);
  std::vector<double> received(kNumbers);
  const double seconds = median_together(comm, [&] {
    MPI_Sendrecv(sent.data(),
                 kNumbers,
                 MPI_DOUBLE,
                 (rank + 1) % size,
                 kTag,
                 received.data(),
                 kNumbers,
                 MPI_DOUBLE,
                 (rank + size - 1) % size,
                 kTag,
                 comm,
                 MPI_STATUS_IGNORE);
  });
  return 8.0 * kNumbers / seconds;
}

double memory_rate(MPI_Comm comm) {
  constexpr Index kNumbers = Index{1} << 24;
  const Vector x = Vector::Constant(kNumbers, 1e-3);
  Vector y = Vector::Zero(kNumbers);
  const double seconds = median_together(comm, [&] { y += 0.5 * x; });
  return 24.0 * kNumbers / seconds;
}

double flop_rate(MPI_Comm comm) {
  constexpr Index kOrder = 192;
  constexpr int kProducts = 50;
  const Matrix A = Matrix::Constant(kOrder, kOrder, 1e-3);
  Matrix C = Matrix::Zero(kOrder, kOrder);
  const double seconds = median_together(comm, [&] {
    for (int i = 0; i < kProducts; ++i)
      kernels::gemm(kernels::Trans::kNo, A, kernels::Trans::kNo, A, C, 1.0, 1.0);
  });
  return kProducts * 2.0 * kOrder * kOrder * kOrder / seconds;
}

double new_memory_rate(MPI_Comm comm) {
  constexpr Index kNumbers = Index{1} << 24;
  const double seconds = median_of(kRepetitions, [&] {
    const mpi::ReservedNumbers numbers(kNumbers, mpi::ReservedNumbers::Use::kSparsely);
    return run_collectively(comm, [&] { std::fill_n(numbers.data(), kNumbers, 1.0); });
  });
  return 8.0 * kNumbers / seconds;
}

}  // namespace

nlohmann::json measure_rates(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  return {{"latency_seconds", size > 1 ? latency(comm, rank, size) : 0},
          {"message_bytes_per_second", size > 1 ? message_rate(comm, rank, size) : 1},
          {"memory_bytes_per_second", memory_rate(comm)},
          {"flops_per_second", flop_rate(comm)},
          {"new_memory_bytes_per_second", new_memory_rate(comm)}};
}

}  // namespace matapprox
