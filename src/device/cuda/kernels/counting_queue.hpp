#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "gemm.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

struct CountedBytes {
  Index now = 0;
  Index peak = 0;
};

/// An array that is counted but not allocated. Only its size is used; it is never read or written.
template <class T>
class CountedArray {
 public:
  CountedArray(std::shared_ptr<CountedBytes> bytes, Index size)
      : bytes_(std::move(bytes)), size_(size) {
    bytes_->now += size_ * Index{sizeof(T)};
    bytes_->peak = std::max(bytes_->peak, bytes_->now);
  }
  CountedArray(CountedArray&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_(std::exchange(other.size_, 0)) {}
  CountedArray& operator=(CountedArray&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }
  CountedArray(const CountedArray&) = delete;
  CountedArray& operator=(const CountedArray&) = delete;
  ~CountedArray() {
    if (bytes_ != nullptr) bytes_->now -= size_ * Index{sizeof(T)};
  }
  // Callers compute addresses within the array, so it is not null.
  T* data() const {
    static std::max_align_t nothing;
    return reinterpret_cast<T*>(&nothing);
  }
  Index size() const { return size_; }

 private:
  std::shared_ptr<CountedBytes> bytes_;
  Index size_;
};

/// A queue that only counts allocated memory: an algorithm itself estimates its memory.
class CountingQueue {
 public:
  template <class T>
  CountedArray<T> array(Index size) const {
    return CountedArray<T>(bytes_, size);
  }
  template <class Kernel>
  void run(const Kernel& /*kernel*/) const {}
  template <class T>
  void upload(const T* /*host*/, Index /*count*/, T* /*array*/) const {}
  template <class T>
  void download(const T* /*array*/, Index /*count*/, T* /*host*/) const {}
  template <class T>
  void copy(const T* /*from*/, Index /*count*/, T* /*destination*/) const {}
  template <class T>
  void zero(T* /*array*/, Index /*count*/) const {}
  template <class T>
  void gemm(const Gemm<T>& /*product*/) const {}
  void wait() const {}

  const CountedBytes& bytes() const { return *bytes_; }

 private:
  std::shared_ptr<CountedBytes> bytes_ = std::make_shared<CountedBytes>();
};

}  // namespace matapprox::cuda
