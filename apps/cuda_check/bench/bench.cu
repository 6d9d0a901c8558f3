// Speed of the CUDA kernels on the first GPU: prints the table of docs/cuda.md, with the targets.
//
//   matapprox_cuda_bench                      all of it
//   matapprox_cuda_bench --quick              small sizes, to check that it runs; no targets
//   matapprox_cuda_bench --part NAME          one part: products, peers, fit, psf, nystrom or bus
//   matapprox_cuda_bench --one POWER COLUMNS  three products of a factor, N = 2^POWER, for a
//   profiler
//
// Times are medians of 20 runs after 3 warm-up runs, measured by events of the GPU unless the table
// says otherwise; data are random and fresh for each size. Rates are compared with the rate of
// copying memory in the same run, and each states which bytes it counts. Beside each time stands
// the error against a computation in double on the host.

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chord_bench.hpp"
#include "device/cuda/kernels/check.hpp"
#include "fit_bench.hpp"
#include "nystrom_bench.hpp"
#include "peer_bench.hpp"
#include "psf_bench.hpp"

namespace matapprox::cuda {
namespace {

struct Part {
  std::string_view name;
  std::function<void(const DeviceQueue&, Table&, double copy, bool quick)> run;
};

std::vector<Part> all_parts() {
  return {
      {"products", bench_products},
      {"peers",
       [](auto& queue, Table& table, double, bool quick) { bench_peers(queue, table, quick); }},
      {"fit",
       [](auto& queue, Table& table, double, bool quick) { bench_fit(queue, table, quick); }},
      {"psf",
       [](auto& queue, Table& table, double, bool quick) { bench_psf(queue, table, quick); }},
      {"nystrom",
       [](auto& queue, Table& table, double, bool quick) { bench_nystrom(queue, table, quick); }},
      {"bus",
       [](auto& queue, Table& table, double, bool quick) { bench_bus(queue, table, quick); }}};
}

int run_parts(const DeviceQueue& queue, const std::vector<Part>& parts, bool quick) {
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, 0), "gpu");
  const double copy = copy_bandwidth(queue);
  std::printf("%s, compute capability %d.%d, %.0f GB; copy %.0f GB/s (read and written)\n",
              gpu.name,
              gpu.major,
              gpu.minor,
              static_cast<double>(gpu.totalGlobalMem) / 1e9,
              copy);
  Table table(quick);
  for (const Part& part : parts) part.run(queue, table, copy, quick);
  return table.finish();
}

int usage() {
  std::fprintf(stderr,
               "usage: matapprox_cuda_bench [--quick | --part NAME | --one POWER COLUMNS]\n"
               "parts:");
  for (const Part& part : all_parts()) std::fprintf(stderr, " %s", std::string(part.name).c_str());
  std::fprintf(stderr, "\n");
  return 2;
}

int run(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  const std::string_view mode = arguments.empty() ? "" : arguments.front();
  const std::size_t count = arguments.size();
  const bool one = count == 3 && mode == "--one";
  const bool quick = count == 1 && mode == "--quick";
  std::vector<Part> parts = all_parts();
  if (count == 2 && mode == "--part") {
    std::erase_if(parts, [&](const Part& part) { return part.name != arguments[1]; });
    if (parts.empty()) return usage();
  } else if (!one && !quick && count > 0) {
    return usage();
  }
  if (const std::string why = why_there_is_no_gpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const DeviceQueue queue;
  return one ? run_one_product(queue, std::atoi(argv[2]), std::atoi(argv[3]))
             : run_parts(queue, parts, quick);
}

}  // namespace
}  // namespace matapprox::cuda

int main(int argc, char** argv) {
  try {
    return matapprox::cuda::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "matapprox_cuda_bench: %s\n", error.what());
    return 1;
  }
}
