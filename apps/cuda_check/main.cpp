// Checks every CUDA kernel against formulas, on the host (the kernels' own code, one thread after
// another, in two orders) or on a GPU.
//
//   matapprox_cuda_check host      0: all good, 1: something failed
//   matapprox_cuda_check device    the same; 77: there is no GPU, or the build has no CUDA

#include <cstdio>
#include <exception>
#include <string_view>

#include "all_checks.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "device_checks.hpp"

namespace {

using matapprox::cuda::HostOrder;
using matapprox::cuda::Results;

constexpr int kSkipped = 77;

int verdict(const Results& results) {
  std::printf("%d comparisons, %d failed\n", results.done(), results.failed());
  return results.failed() == 0 && results.done() > 0 ? 0 : 1;
}

int check_host() {
  Results results("host");
  for (const HostOrder order : {HostOrder::kForward, HostOrder::kBackward})
    matapprox::cuda::check_all(matapprox::cuda::HostQueue(order), results);
  return verdict(results);
}

int check_device() {
  Results results("device");
  if (const auto why = matapprox::cuda::run_device_checks(results); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return kSkipped;
  }
  return verdict(results);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view where = argc == 2 ? argv[1] : "";
  try {
    if (where == "host") return check_host();
    if (where == "device") return check_device();
  } catch (const std::exception& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: matapprox_cuda_check host|device\n");
  return 2;
}
