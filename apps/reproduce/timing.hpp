#pragma once

#include <array>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Time of one kernel: median and minimum of the rounds.
struct TimedKernel {
  std::string name;   ///< "chain times vector", "objective and gradient", "dgemm, ours", ...
  Index n = 0;        ///< order
  Index columns = 0;  ///< columns of the block; 0 if there is none
  int threads = 1;
  double median_seconds = 0;
  double best_seconds = 0;
  double flops = 0;  ///< per call

  double gigaflops() const { return flops / median_seconds / 1e9; }
};

/// Times of the kernels that the fits consist of, all from the same interleaved rounds.
struct KernelTimings {
  int rounds = 0;
  std::vector<TimedKernel> kernels;
  std::array<double, 3> load_before{};  ///< load averages of 1, 5 and 15 minutes
  std::array<double, 3> load_after{};

  /// Rate of the BLAS's dgemm on one thread; 0 if it was not timed.
  double blas_gigaflops() const;
};

/// Times kernels in double precision, on one thread and, if there are more, on threads(): the
/// product of a chain of the reference pattern with 1 and 64 columns and its objective with
/// gradient, at every order; and the dense product of order 1024. Beside them, on one thread, the
/// alternatives: the chain as Eigen's sparse matrices (as this library is compiled), the dense
/// product of the BLAS. Every round runs everything once, so that other load of the machine affects
/// all alike. Changes the number of threads while it runs. Throws InvalidArgument for rounds < 1 or
/// an order < 2.
KernelTimings time_kernels(const std::vector<Index>& orders = {256, 1024, 4096}, int rounds = 5);

std::string timings_table(const KernelTimings& timings);
std::string timings_json(const KernelTimings& timings);

}  // namespace matapprox
