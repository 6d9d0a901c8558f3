#pragma once

#include <numeric>

#include "chord_checks.hpp"
#include "device/cuda/kernels/chord_fit.hpp"
#include "host_objective.hpp"
#include "table.hpp"

namespace matapprox::cuda {

/// Times one evaluation of a fit's objective and gradient, beside two threads of the host.
inline void bench_fit(const DeviceQueue& queue, Table& table) {
  const Index n = table.quick() ? 256 : 4096;
  const ChordShape shape = reference_shape(n);
  const auto values = random_array<double>(queue, shape.stored_numbers());
  const auto target = random_array<double>(queue, n * n);
  auto gradient = queue.array<double>(shape.stored_numbers());
  std::vector<Index> all(n);
  std::iota(all.begin(), all.end(), 0);
  auto columns = queue.array<Index>(n);
  queue.upload(all.data(), n, columns.data());
  ChordObjective<double, DeviceQueue> objective(
      queue, shape, panel_width(shape, n, device_memory().free / 4));
  const DenseColumns<double> source{target.data(), n, objective.width(), columns.data()};
  double f = 0;
  const double gpu = milliseconds(queue, [&] {
    f = objective.evaluate(values.data(), columns.data(), n, source, gradient.data());
  });

  const auto host_values = on_host(queue, values.data(), values.size());
  const auto host_target = on_host(queue, target.data(), n * n);
  std::vector<double> wanted;
  double f_wanted = 0;
  std::vector<double> times;
  for (int run = 0; run < 4; ++run) {
    times.push_back(wall_milliseconds(
        [&] { f_wanted = host_objective(shape, host_values, host_target, 2, wanted); }));
  }
  const double host = median({times.begin() + 1, times.end()});
  const double error =
      std::max(relative_error(on_host(queue, gradient.data(), gradient.size()), wanted),
               std::abs(f - f_wanted) / f_wanted);

  table.head(
      "Objective and gradient of a fit, double; flops: 6 M N^2 K. The host: two threads, plain C++ "
      "for its own CPU, median of 3");
  const double flops = 6.0 * static_cast<double>(shape.stored_numbers()) * static_cast<double>(n);
  table.add(
      {text("N = %ld, two threads of the host", n), host, text("%.1f GF/s", flops / host / 1e6)});
  table.add({text("N = %ld, the GPU, panels of %ld", n, objective.width()),
             gpu,
             text("%.2f TF/s, %.0f x the host", flops / gpu / 1e9, host / gpu),
             error,
             1e-12,
             "30 x",
             host / gpu >= 30});
}

}  // namespace matapprox::cuda
