#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "device/cuda/kernels/device_array.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/device/placement.hpp"

namespace matapprox {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

/// Returns 0 if there is no driver.
int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

int runtime_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}

std::string objection_to(cudaError_t error) {
  const int driver = driver_version();
  if (driver == 0) return "this machine has no NVIDIA driver";
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format(
        "the NVIDIA driver is made for CUDA {}, this build for CUDA {}: update the "
        "driver",
        version_text(driver),
        version_text(runtime_version()));
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess)
    return "the NVIDIA driver shows no GPU; CUDA_VISIBLE_DEVICES can hide it";
  return fmt::format("the GPU cannot be used: {}", cudaGetErrorString(error));
}

[[noreturn]] void throw_not_available(const std::exception& error) {
  throw NotAvailable(fmt::format("cuda: {}", error.what()));
}

class TimingEvent {
 public:
  TimingEvent() { cuda::check(cudaEventCreate(&event_), "new event"); }
  ~TimingEvent() { cudaEventDestroy(event_); }
  TimingEvent(const TimingEvent&) = delete;
  TimingEvent& operator=(const TimingEvent&) = delete;
  void record(cudaStream_t stream) const {
    cuda::check(cudaEventRecord(event_, stream), "recording an event");
  }
  double seconds_since(const TimingEvent& start) const {
    cuda::check(cudaEventSynchronize(event_), "waiting for an event");
    float milliseconds = 0;
    cuda::check(cudaEventElapsedTime(&milliseconds, start.event_, event_), "time of an event");
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaEvent_t event_ = nullptr;
};

double measured_copy_bandwidth() {
  constexpr Index kBytes = Index{1} << 28;
  constexpr int kRounds = 5;
  const auto bytes = static_cast<std::size_t>(kBytes);
  const auto stream = std::make_shared<const cuda::Stream>();
  const cuda::DeviceArray<char> from(stream, kBytes);
  cuda::DeviceArray<char> to(stream, kBytes);
  const TimingEvent start;
  const TimingEvent stop;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    start.record(*stream);
    cuda::check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, *stream),
                "copy on the device");
    stop.record(*stream);
    best = std::max(best, 2.0 * static_cast<double>(kBytes) / stop.seconds_since(start));
  }
  return best;
}

}  // namespace

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {};
  cudaGetLastError();
  return objection_to(error);
}

GpuInfo gpu_info() {
  if (const std::string why = why_no_gpu(); !why.empty()) throw NotAvailable("cuda: " + why);
  try {
    cudaDeviceProp properties{};
    cuda::check(cudaGetDeviceProperties(&properties, 0), "properties of the GPU");
    int kilohertz = 0;
    cuda::check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "clock of the GPU");
    const cuda::DeviceMemory memory = cuda::device_memory();
    return {properties.name,
            properties.major,
            properties.minor,
            properties.multiProcessorCount,
            1e3 * kilohertz,
            driver_version(),
            runtime_version(),
            memory.total,
            memory.free};
  } catch (const cuda::DeviceError& error) {
    throw_not_available(error);
  }
}

double gpu_copy_bandwidth() {
  if (const std::string why = why_no_gpu(); !why.empty()) throw NotAvailable("cuda: " + why);
  try {
    return measured_copy_bandwidth();
  } catch (const cuda::DeviceError& error) {
    throw_not_available(error);
  }
}

}  // namespace matapprox
