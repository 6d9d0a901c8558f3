#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <memory>
#include <mutex>
#include <string>

#include "check.hpp"
#include "cublas_gemm.hpp"
#include "device_array.hpp"
#include "grid.hpp"
#include "page_locked_bus.hpp"
#include "staging.hpp"

namespace matapprox::cuda {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) run_kernel(const Kernel kernel) {
  const GridPosition place{static_cast<Index>(blockIdx.x), static_cast<int>(threadIdx.x)};
  if constexpr (PhasedKernel<Kernel>) {
    __shared__ typename Kernel::SharedMemory shared;
    typename Kernel::Registers local;
    if constexpr (HasBegin<Kernel>) kernel.begin(place, local);
    const int steps = kernel.steps(place);
    for (int s = 0; s < steps; ++s) {
      kernel.fill(place, s, shared, local);
      __syncthreads();
      kernel.use(place, s, shared, local);
      __syncthreads();
    }
    if constexpr (HasEnd<Kernel>) kernel.end(place, local);
  } else {
    kernel(place);
  }
}

/// Largest number of blocks of a grid.
inline constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();

/// Starts the kernel on the stream; returns at once. Throws DeviceError, also for more than
/// kMaxBlocks blocks.
template <class Kernel>
void launch(const Kernel& kernel, cudaStream_t stream) {
  const Index blocks = kernel.blocks();
  if (blocks == 0) return;
  if (blocks > kMaxBlocks) {
    throw DeviceError(
        "a kernel of " + std::to_string(blocks) + " blocks, at most " + std::to_string(kMaxBlocks),
        cudaErrorInvalidConfiguration);
  }
  run_kernel<<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, stream>>>(kernel);
  check(cudaGetLastError(), "launch of a kernel");
}

/// The functions of HostQueue on a stream of the current device. All of them throw DeviceError; a
/// failure of running work is reported by the next download or wait.
class DeviceQueue {
 public:
  template <class T>
  DeviceArray<T> array(Index size) const {
    return DeviceArray<T>(stream_, size);
  }
  template <class Kernel>
  void run(const Kernel& kernel) const {
    launch(kernel, *stream_);
  }
  template <class T>
  void upload(const T* host, Index count, T* array) const {
    const std::lock_guard lock(copying_);
    staging().upload(
        reinterpret_cast<const char*>(host), bytes_of<T>(count), reinterpret_cast<char*>(array));
  }
  template <class T>
  void download(const T* array, Index count, T* host) const {
    const std::lock_guard lock(copying_);
    staging().download(
        reinterpret_cast<const char*>(array), bytes_of<T>(count), reinterpret_cast<char*>(host));
  }
  template <class T>
  void copy(const T* from, Index count, T* to) const {
    if (count == 0) return;
    check(cudaMemcpyAsync(to,
                          from,
                          static_cast<std::size_t>(bytes_of<T>(count)),
                          cudaMemcpyDeviceToDevice,
                          *stream_),
          "copy within the device");
  }
  template <class T>
  void zero(T* array, Index count) const {
    if (count == 0) return;
    check(cudaMemsetAsync(array, 0, static_cast<std::size_t>(bytes_of<T>(count)), *stream_),
          "clearing memory of the device");
  }
  /// The first call starts cuBLAS.
  template <class T>
  void gemm(const Gemm<T>& product) const {
    if (cublas_ == nullptr) cublas_ = std::make_unique<Cublas>(stream_);
    cublas_->run(product);
  }
  void wait() const { stream_->wait(); }
  cudaStream_t stream() const { return *stream_; }

 private:
  template <class T>
  static Index bytes_of(Index count) {
    return count * Index{sizeof(T)};
  }
  /// Created by the first copy.
  Staging<PageLockedBus>& staging() const {
    if (staging_ == nullptr) staging_ = std::make_unique<Staging<PageLockedBus>>(stream_);
    return *staging_;
  }

  std::shared_ptr<const Stream> stream_ = std::make_shared<const Stream>();
  mutable std::unique_ptr<Cublas> cublas_;
  mutable std::mutex copying_;  ///< guards the buffers: threads may share a queue
  mutable std::unique_ptr<Staging<PageLockedBus>> staging_;
};

}  // namespace matapprox::cuda
