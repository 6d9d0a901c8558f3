#pragma once

#include <memory>
#include <thread>

#include "pivoted_cholesky.hpp"
#include "table.hpp"

namespace matapprox::cuda {

/// Relative error of one entry of each kept column, against the formula.
inline double columns_error(const RandomPoints& example,
                            const double* columns,
                            const std::vector<Index>& landmarks) {
  std::vector<double> got;
  std::vector<double> wanted;
  for (std::size_t c = 0; c < landmarks.size(); ++c) {
    const Index i = static_cast<Index>(c) * 7919 % example.count;
    got.push_back(columns[static_cast<Index>(c) * example.count + i]);
    wanted.push_back(example.entry(i, landmarks[c]));
  }
  return relative_error(got, wanted);
}

/// Touches newly allocated memory from all threads; otherwise the copy alone would take all page
/// faults.
inline void write_pages(double* numbers, Index count) {
  const auto threads = static_cast<Index>(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::thread> workers;
  for (Index t = 0; t < threads; ++t) {
    const Index first = count * t / threads;
    const Index last = count * (t + 1) / threads;
    workers.emplace_back([=] { std::fill(numbers + first, numbers + last, 0.0); });
  }
  for (std::thread& worker : workers) worker.join();
}

inline void bench_nystrom(const DeviceQueue& queue, Table& table, bool quick) {
  const Index n = quick ? 20000 : 1000000;
  const Index landmarks = quick ? 100 : 1000;
  table.head(
      "Nystrom of a Gaussian kernel matrix, double, d = 8, points random in [-1, 1]^8, bandwidth "
      "1: "
      "points to the GPU, randomly pivoted Cholesky, columns to the host; wall clock, one run "
      "after "
      "one to warm up; error: entries of the columns");
  // Columns and factor, the proposed columns, and their residual twice.
  const Index needed = 8 * n * (2 * landmarks + 4 * 96);
  if (needed > free_memory() / 16 * 15) {
    Table::skip(text("N = %lld", static_cast<long long>(n)), "no room");
    return;
  }
  const RandomPoints example(n);
  std::string figure;
  double error = 0;
  double ms = 0;
  for (int run = 0; run < 2; ++run) {
    std::unique_ptr<KernelFactor<DeviceQueue>> kernel;
    std::unique_ptr<PivotedCholesky<DeviceQueue>> cholesky;
    std::unique_ptr<double[]> columns;
    double last = 0;
    ms = wall_milliseconds([&] {
      kernel = std::make_unique<KernelFactor<DeviceQueue>>(queue, example.host_kernel());
      cholesky = std::make_unique<PivotedCholesky<DeviceQueue>>(queue, *kernel, landmarks);
      last = wall_milliseconds([&] {
        columns = std::make_unique_for_overwrite<double[]>(static_cast<std::size_t>(n * landmarks));
        write_pages(columns.get(), n * landmarks);
        cholesky->tall().download_columns(columns.get());
      });
    });
    error = columns_error(example, columns.get(), cholesky->landmarks());
    figure =
        text("%lld rounds, columns %.2f s", static_cast<long long>(cholesky->rounds()), last / 1e3);
    if (run == 1) {
      Table::skip(
          "",
          text("left of K: %.2e in the trace norm, %.2e in the Frobenius norm (256 random points)",
               cholesky->trace_left(),
               sampled_error(example, cholesky->tall())));
    }
  }
  table.add({text("N = %lld, %lld landmarks",
                  static_cast<long long>(n),
                  static_cast<long long>(landmarks)),
             ms,
             figure,
             error,
             1e-12,
             "5 s",
             ms < 5000});
}

}  // namespace matapprox::cuda
