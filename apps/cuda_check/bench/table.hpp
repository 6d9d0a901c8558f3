#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "checker.hpp"
#include "device/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {

/// Measurements of one item, or of a reference that others are measured against. An error and its
/// limit are relative; a limit of 0 means that no error was measured.
struct Row {
  std::string what;
  double milliseconds = 0;
  std::string figure;
  double error = 0;
  double error_limit = 0;
  std::string target = {};  ///< target as text; empty: none
  bool reached = false;
};

/// Prints rows as they are added, each with its target and whether it is met; a row with a wrong
/// result meets no target. Small sizes have no targets.
class Table {
 public:
  /// `copy_rate`: GB/s of a copy within the memory of the GPU.
  Table(bool quick, double copy_rate) : quick_(quick), copy_rate_(copy_rate) {}

  bool quick() const { return quick_; }
  double copy_rate() const { return copy_rate_; }

  void head(const std::string& counted) const {
    std::printf("\n%s\n%-50s %11s  %-34s %19s  %s\n",
                counted.c_str(),
                "",
                "ms",
                "",
                "error (at most)",
                "target");
  }
  void add(const Row& row) {
    const bool right = !(row.error_limit > 0) || row.error <= row.error_limit;
    const bool asked = !quick_ && !row.target.empty();
    std::string verdict = right ? "" : "WRONG RESULT";
    if (right && asked) verdict = row.target + (row.reached ? ": met" : ": NOT MET");
    std::printf("%-50s %11.3f  %-34s %19s  %s\n",
                row.what.c_str(),
                row.milliseconds,
                row.figure.c_str(),
                row.error_limit > 0 ? text("%.1e (%.0e)", row.error, row.error_limit).c_str() : "-",
                verdict.c_str());
    std::fflush(stdout);
    wrong_ += right ? 0 : 1;
    asked_ += asked ? 1 : 0;
    met_ += right && asked && row.reached ? 1 : 0;
  }
  static void skip(const std::string& what, const std::string& why) {
    std::printf("%-50s %s\n", what.c_str(), why.c_str());
  }
  /// Returns the exit status: 1 if a result is wrong.
  int finish() const {
    std::printf("\n%d of %d targets met, %d wrong results\n", met_, asked_, wrong_);
    return wrong_ == 0 ? 0 : 1;
  }

 private:
  bool quick_;
  double copy_rate_;
  int wrong_ = 0;
  int asked_ = 0;
  int met_ = 0;
};

inline constexpr int kWarmUps = 3;
inline constexpr int kRuns = 20;

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median milliseconds of function() on the stream of the queue, by events of the GPU.
inline double milliseconds(const DeviceQueue& queue, const std::function<void()>& function) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "event");
  check(cudaEventCreate(&end), "event");
  std::vector<double> times;
  for (int run = -kWarmUps; run < kRuns; ++run) {
    check(cudaEventRecord(begin, queue.stream()), "event");
    function();
    check(cudaEventRecord(end, queue.stream()), "event");
    queue.wait();
    float time = 0;
    check(cudaEventElapsedTime(&time, begin, end), "event");
    if (run >= 0) times.push_back(static_cast<double>(time));
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return median(times);
}

/// Milliseconds of function() by the host's clock.
template <class Function>
double wall_milliseconds(const Function& function) {
  const auto begin = std::chrono::steady_clock::now();
  function();
  return 1e3 * std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Pseudorandom numbers in -1..1, computed from a counter.
template <class T>
struct RandomNumbers {
  static constexpr int kThreads = 256;
  T* to = nullptr;
  Index count = 0;
  std::uint64_t seed = 0;
  Index blocks() const { return ceil_div(count, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i >= count) return;
    std::uint64_t z =
        (static_cast<std::uint64_t>(i) + seed * 0x100000001B3ULL) * 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    to[i] = static_cast<T>(static_cast<double>((z ^ (z >> 31U)) >> 11U) / 4503599627370496.0 - 1);
  }
};

/// Returns different random numbers at each call.
template <class T, class Queue>
auto random_array(const Queue& queue, Index count) {
  static std::uint64_t seed = 0;
  auto array = queue.template array<T>(count);
  // A grid has at most 2^31 - 1 blocks, enough for 2^39 numbers.
  queue.run(RandomNumbers<T>{array.data(), count, ++seed});
  return array;
}

template <class T, class Queue>
std::vector<T> on_host(const Queue& queue, const T* array, Index count) {
  std::vector<T> numbers(count);
  queue.download(array, count, numbers.data());
  return numbers;
}

}  // namespace matapprox::cuda
