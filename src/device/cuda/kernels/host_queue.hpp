#pragma once

#include <algorithm>
#include <limits>
#include <type_traits>

#include "gemm.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

// Algorithms are templates over a queue, which owns memory and runs kernels in order:
//
//   queue.template array<T>(n)      n numbers, uninitialized; .data(), .size(); movable only
//   queue.run(kernel)               see grid.hpp
//   queue.upload(host, n, array)    the numbers on the host may change after it returns
//   queue.download(array, n, host)  waits
//   queue.wait()                    waits until all work is done
//   queue.copy(from, n, to)         within the memory of the queue
//   queue.zero(array, n)
//   queue.gemm(product)             see gemm.hpp

/// n numbers on the host, NaN until they are written if the type has it, so that reads of unwritten
/// numbers are detected. On a GPU they are arbitrary.
template <class T>
class HostArray {
 public:
  HostArray() = default;
  explicit HostArray(Index size) : values_(static_cast<std::size_t>(size), unwritten()) {}
  HostArray(HostArray&&) noexcept = default;
  HostArray& operator=(HostArray&&) noexcept = default;
  HostArray(const HostArray&) = delete;
  HostArray& operator=(const HostArray&) = delete;
  ~HostArray() = default;
  T* data() { return values_.data(); }
  const T* data() const { return values_.data(); }
  Index size() const { return static_cast<Index>(values_.size()); }

 private:
  static T unwritten() {
    if constexpr (std::is_floating_point_v<T>) {
      return std::numeric_limits<T>::quiet_NaN();
    } else {
      return T{};
    }
  }

  std::vector<T> values_;
};

/// Runs kernels on the host, one thread after the other: for tests.
class HostQueue {
 public:
  explicit HostQueue(HostOrder order = HostOrder::kForward) : order_(order) {}
  template <class T>
  HostArray<T> array(Index size) const {
    return HostArray<T>(size);
  }
  template <class Kernel>
  void run(const Kernel& kernel) const {
    run_on_host(kernel, order_);
  }
  template <class T>
  void upload(const T* host, Index count, T* array) const {
    std::copy_n(host, count, array);
  }
  template <class T>
  void download(const T* array, Index count, T* host) const {
    std::copy_n(array, count, host);
  }
  template <class T>
  void copy(const T* from, Index count, T* to) const {
    std::copy_n(from, count, to);
  }
  template <class T>
  void zero(T* array, Index count) const {
    std::fill_n(array, count, T(0));
  }
  void wait() const {}

  template <class T>
  void gemm(const Gemm<T>& product) const {
    gemm_on_host(product);
  }

 private:
  HostOrder order_;
};

}  // namespace matapprox::cuda
