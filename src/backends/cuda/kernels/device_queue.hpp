#pragma once

#include <memory>

#include "cublas_gemm.hpp"
#include "device_array.hpp"
#include "launch.hpp"

namespace matapprox::cuda {

/// The same functions as HostQueue, on a stream of the current device. Everything throws
/// DeviceError; what fails while it runs shows at the next download or wait.
class DeviceQueue {
 public:
  template <class T>
  DeviceArray<T> array(Index size) const {
    return DeviceArray<T>(size);
  }
  template <class Kernel>
  void run(const Kernel& kernel) const {
    launch(kernel, stream_);
  }
  template <class T>
  void upload(const T* host, Index count, T* array) const {
    transfer(host, count, array, cudaMemcpyHostToDevice);
  }
  template <class T>
  void download(const T* array, Index count, T* host) const {
    transfer(array, count, host, cudaMemcpyDeviceToHost);
    wait();
  }
  template <class T>
  void copy(const T* from, Index count, T* to) const {
    transfer(from, count, to, cudaMemcpyDeviceToDevice);
  }
  template <class T>
  void zero(T* array, Index count) const {
    check(cudaMemsetAsync(array, 0, static_cast<std::size_t>(count) * sizeof(T), stream_),
          "clearing memory of the device");
  }
  /// The first one starts cuBLAS.
  template <class T>
  void gemm(const Gemm<T>& product) const {
    if (cublas_ == nullptr) cublas_ = std::make_unique<Cublas>(stream_);
    cublas_->run(product);
  }
  void wait() const { stream_.wait(); }
  cudaStream_t stream() const { return stream_; }

 private:
  template <class T>
  void transfer(const T* from, Index count, T* to, cudaMemcpyKind kind) const {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count) * sizeof(T), kind, stream_),
          "copy between host and device");
  }

  Stream stream_;
  mutable std::unique_ptr<Cublas> cublas_;  ///< on the stream, gone before it
};

}  // namespace matapprox::cuda
