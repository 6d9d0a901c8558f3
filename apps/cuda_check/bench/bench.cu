// Speed of the CUDA kernels on the first GPU: prints the table of docs/cuda.md, with the targets.
//
//   matapprox_cuda_bench                      all of it
//   matapprox_cuda_bench --quick              small sizes, to check that it runs; no targets
//   matapprox_cuda_bench --part NAME          one part: products, peers, fit, psf or bus
//   matapprox_cuda_bench --one POWER COLUMNS  three products of a factor, N = 2^POWER, for a
//   profiler
//
// Times are medians of 20 runs after 3 warm-up runs, measured by events of the GPU unless the table
// says otherwise; data are random and fresh for each size. Rates are compared with the rate of
// copying memory in the same run, and each states which bytes it counts. Beside each time stands
// the error against a computation in double on the host.

#include <string>
#include <string_view>
#include <vector>

#include "chord_bench.hpp"
#include "device/cuda/kernels/check.hpp"
#include "fit_bench.hpp"
#include "peer_bench.hpp"
#include "psf_bench.hpp"

namespace matapprox::cuda {
namespace {

struct Part {
  std::string_view name;
  void (*run)(const DeviceQueue&, Table&);
};
constexpr Part kParts[] = {{"products", bench_products},
                           {"peers", bench_peers},
                           {"fit", bench_fit},
                           {"psf", bench_psf},
                           {"bus", bench_bus}};

/// Runs the part with this name; all parts if the name is empty.
int run_parts(const DeviceQueue& queue, std::string_view name, bool quick) {
  cudaDeviceProp gpu{};
  check(cudaGetDeviceProperties(&gpu, 0), "gpu");
  Table table(quick, copy_bandwidth(queue));
  std::printf("%s, compute capability %d.%d, %.0f GB; copy %.0f GB/s (read and written)\n",
              gpu.name,
              gpu.major,
              gpu.minor,
              static_cast<double>(gpu.totalGlobalMem) / 1e9,
              table.copy_rate());
  for (const Part& part : kParts) {
    if (name.empty() || part.name == name) part.run(queue, table);
  }
  return table.finish();
}

int usage() {
  std::fprintf(stderr,
               "usage: matapprox_cuda_bench [--quick | --part NAME | --one POWER COLUMNS]\n"
               "parts:");
  for (const Part& part : kParts) std::fprintf(stderr, " %s", part.name.data());
  std::fprintf(stderr, "\n");
  return 2;
}

int run(const std::vector<std::string>& arguments) {
  const auto is = [&](std::string_view mode, std::size_t values) {
    return arguments.size() == 1 + values && arguments.front() == mode;
  };
  std::string name;
  for (const Part& part : kParts) {
    if (is("--part", 1) && arguments[1] == part.name) name = part.name;
  }
  if (!arguments.empty() && !is("--quick", 0) && !is("--one", 2) && name.empty()) return usage();
  if (const std::string why = why_there_is_no_gpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const DeviceQueue queue;
  if (!is("--one", 2)) return run_parts(queue, name, is("--quick", 0));
  return run_one_product(queue, std::stoi(arguments[1]), std::stoi(arguments[2]));
}

}  // namespace
}  // namespace matapprox::cuda

int main(int argc, char** argv) {
  try {
    return matapprox::cuda::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "matapprox_cuda_bench: %s\n", error.what());
    return 1;
  }
}
