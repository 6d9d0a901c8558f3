#pragma once

#include <memory>

#include "device_array.hpp"

namespace matapprox::cuda {

/// The buffers of Staging on a stream: page-locked memory, and an event after the last work on
/// each.
class PageLockedBus {
 public:
  explicit PageLockedBus(std::shared_ptr<const Stream> stream) : stream_(std::move(stream)) {
    for (Buffer& buffer : buffers_) buffer.make();
  }

  static constexpr Index bytes() { return Index{32} << 20; }
  char* buffer(int which) { return buffers_[which].memory; }
  void send(int which, Index at, Index count, char* to) {
    transfer(to, buffers_[which].memory + at, count, cudaMemcpyHostToDevice);
    mark(which);
  }
  void fetch(int which, const char* from, Index count) {
    transfer(buffers_[which].memory, from, count, cudaMemcpyDeviceToHost);
    mark(which);
  }
  void wait(int which) {
    check(cudaEventSynchronize(buffers_[which].done), "copy between host and device");
  }

 private:
  struct Buffer {
    char* memory = nullptr;
    cudaEvent_t done = nullptr;

    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
      // The device may still read it.
      if (done != nullptr) cudaEventSynchronize(done);
      if (done != nullptr) cudaEventDestroy(done);
      if (memory != nullptr) cudaFreeHost(memory);
    }
    void make() {
      const cudaError_t error =
          cudaMallocHost(reinterpret_cast<void**>(&memory), static_cast<std::size_t>(bytes()));
      // The host's memory is full, not the GPU's.
      if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        throw DeviceError("page-locked memory of the host, of which there is too little",
                          cudaErrorUnknown);
      }
      check(error, "page-locked memory of the host");
      check(cudaEventCreateWithFlags(&done, cudaEventDisableTiming), "new event");
    }
  };

  void transfer(void* to, const void* from, Index count, cudaMemcpyKind kind) const {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(count), kind, *stream_),
          "copy between host and device");
  }
  void mark(int which) {
    check(cudaEventRecord(buffers_[which].done, *stream_), "recording an event");
  }

  std::shared_ptr<const Stream> stream_;
  Buffer buffers_[2];
};

}  // namespace matapprox::cuda
