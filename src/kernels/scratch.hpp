#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <new>

#include "core/large_pages.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Aligned working memory that grows and is kept for the next call: one per thread and purpose, so
/// that small products need no allocation. The content is not preserved.
template <class T = double>
class Scratch {
 public:
  T* reserve(Index count) {
    if (count > size_) {
      memory_.reset();
      memory_ = hwy::AllocateAligned<T>(static_cast<std::size_t>(count));
      if (!memory_) throw std::bad_alloc();
      prefer_large_pages(memory_.get(), static_cast<std::size_t>(count) * sizeof(T));
      size_ = count;
    }
    return memory_.get();
  }

  /// Releases the memory if it is more than 16 MiB.
  void give_back_much() {
    constexpr Index kKept = (Index{1} << 24) / sizeof(T);
    if (size_ <= kKept) return;
    memory_.reset();
    size_ = 0;
  }

 private:
  hwy::AlignedFreeUniquePtr<T[]> memory_;
  Index size_ = 0;
};

/// `count` numbers of a Scratch for the lifetime of this object; a large buffer is released
/// afterwards.
template <class T>
class ScratchBuffer {
 public:
  ScratchBuffer(Scratch<T>& scratch, Index count)
      : scratch_(scratch), data_(scratch.reserve(count)) {}
  ~ScratchBuffer() { scratch_.give_back_much(); }
  ScratchBuffer(const ScratchBuffer&) = delete;
  ScratchBuffer& operator=(const ScratchBuffer&) = delete;

  T* data() const { return data_; }

 private:
  Scratch<T>& scratch_;
  T* data_;
};

}  // namespace matapprox::kernels
