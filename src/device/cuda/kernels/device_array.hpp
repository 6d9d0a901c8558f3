#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "check.hpp"
#include "device_memory.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

/// A stream of the current device. Its work runs in order, and so do its allocations: memory that
/// it released is available to its next allocation without waiting.
class Stream {
 public:
  Stream() : pooled_(keep_pool_memory()) {
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "new stream");
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }
  /// Waits until all work is done; throws DeviceError if any of it failed.
  void wait() const { check(cudaStreamSynchronize(stream_), "work on the device"); }

  void* allocate(std::size_t bytes) const {
    void* made = nullptr;
    cudaError_t error = pooled_ ? cudaMallocAsync(&made, bytes, stream_) : cudaMalloc(&made, bytes);
    if (pooled_ && error == cudaErrorMemoryAllocation) {
      // Released memory may still be in use, or the pool may hold it in pieces that are too short.
      cudaGetLastError();
      wait();
      check(cudaMemPoolTrimTo(memory_pool(), 0), "memory pool");
      error = cudaMallocAsync(&made, bytes, stream_);
    }
    check(error, "memory of the device");
    return made;
  }
  void release(void* memory) const {
    if (pooled_) {
      cudaFreeAsync(memory, stream_);
    } else {
      cudaFree(memory);
    }
  }

 private:
  bool pooled_;
  cudaStream_t stream_ = nullptr;
};

/// An array of `size` numbers on the current device for work on one stream, which it keeps alive.
/// Movable, not copyable. Throws DeviceError, with out_of_memory() if the GPU is full.
template <class T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(std::shared_ptr<const Stream> stream, Index size)
      : stream_(std::move(stream)), size_(size) {
    if (size > 0)
      data_ = static_cast<T*>(stream_->allocate(static_cast<std::size_t>(size) * sizeof(T)));
  }
  ~DeviceArray() {
    if (data_ != nullptr) stream_->release(data_);
  }
  DeviceArray(DeviceArray&& other) noexcept
      : stream_(std::move(other.stream_)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  Index size() const { return size_; }

 private:
  std::shared_ptr<const Stream> stream_;
  T* data_ = nullptr;
  Index size_ = 0;
};

}  // namespace matapprox::cuda
