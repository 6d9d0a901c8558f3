#pragma once

#include <utility>

#include "grid.hpp"

namespace matapprox::cuda {

/// Memory of a queue that algorithms use one after the other. It only grows, so that a step that
/// has run once allocates nothing.
template <class T, class Queue>
class Scratch {
 public:
  explicit Scratch(const Queue& queue) : queue_(&queue), array_(queue.template array<T>(0)) {}

  const Queue& queue() const { return *queue_; }
  /// Returns at least `size` uninitialized numbers, valid until the next call.
  T* take(Index size) {
    if (size > array_.size()) array_ = queue_->template array<T>(size);
    return array_.data();
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  const Queue* queue_;
  Array array_;
};

}  // namespace matapprox::cuda
