// Speed of the CUDA kernels on the first GPU: the table of docs/cuda.md, with the targets.
//
//   matapprox_cuda_bench                      all of it
//   matapprox_cuda_bench --quick              small sizes, to see that it runs; no targets
//   matapprox_cuda_bench --one POWER COLUMNS  three products of a factor, N = 2^POWER, for a
//   profiler
//
// Times are medians of 20 runs after 3 to warm up, by events of the GPU, unless the table says
// other; data are random and fresh for each size. Rates are beside what copying memory reaches in
// the same run, and each says which bytes it counts. Beside each time stands the error against
// what the host computes in double.

#include <cstdlib>
#include <string_view>

#include "chord_bench.hpp"
#include "device/cuda/kernels/gpu_present.hpp"
#include "fit_bench.hpp"
#include "nystrom_bench.hpp"
#include "peer_bench.hpp"
#include "psf_bench.hpp"

namespace matapprox::cuda {
namespace {

int run_all(const DeviceQueue& queue, bool quick) {
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
  bench_products(queue, table, copy, quick);
  bench_peers(queue, table, quick);
  bench_fit(queue, table, quick);
  bench_psf(queue, table, quick);
  bench_nystrom(queue, table, quick);
  bench_bus(queue, table, quick);
  return table.finish();
}

int run(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool all = argc == 1 || (argc == 2 && mode == "--quick");
  const bool one = argc == 4 && mode == "--one";
  if (!all && !one) {
    std::fprintf(stderr, "usage: matapprox_cuda_bench [--quick | --one POWER COLUMNS]\n");
    return 2;
  }
  if (const std::string why = why_there_is_no_gpu(); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const DeviceQueue queue;
  return one ? run_one_product(queue, std::atoi(argv[2]), std::atoi(argv[3]))
             : run_all(queue, !mode.empty());
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
