#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "matapprox/attention/layers/tokens.hpp"

namespace matapprox::attention {

/// Allocates vectors from the beginning of a cache line, so that no SIMD vector spans two lines.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  LineAllocator() = default;
  template <class U>
  explicit(false) LineAllocator(const LineAllocator<U>& /*other*/) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(::operator new(count * sizeof(T), kLine));
  }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator& /*other*/) const { return true; }
};

template <class T>
using LineVector = std::vector<T, LineAllocator<T>>;

/// Data that a layer's forward pass stores for its backward pass: numbered arrays, and one cache
/// for each layer inside it. Arrays grow and never shrink, so that steps of equal size allocate
/// nothing after the first.
template <class T>
class Cache {
 public:
  /// Array `slot` as rows x cols; its content is kept from the forward to the backward pass.
  TokenMap<T> array(Index slot, Index rows, Index cols) {
    if (slot >= std::ssize(arrays_)) arrays_.resize(static_cast<std::size_t>(slot) + 1);
    LineVector<T>& values = arrays_[static_cast<std::size_t>(slot)];
    const auto size = static_cast<std::size_t>(rows * cols);
    if (values.size() < size) values.resize(size);
    return {values.data(), rows, cols};
  }
  /// Bytes that are kept in the same way, for a mask of the layer.
  std::span<std::uint8_t> bytes(Index count) {
    const auto size = static_cast<std::size_t>(count);
    if (bytes_.size() < size) bytes_.resize(size);
    return {bytes_.data(), size};
  }
  Cache& child(Index number) {
    while (number >= std::ssize(children_)) children_.push_back(std::make_unique<Cache>());
    return *children_[static_cast<std::size_t>(number)];
  }
  /// Number of values held, including those of children.
  Index size() const {
    std::size_t sum = 0;
    for (const auto& values : arrays_) sum += values.size();
    for (const auto& child : children_) sum += static_cast<std::size_t>(child->size());
    return static_cast<Index>(sum);
  }

 private:
  std::vector<LineVector<T>> arrays_;
  std::vector<std::uint8_t> bytes_;
  std::vector<std::unique_ptr<Cache>> children_;
};

/// Temporary memory of functions: taken piece by piece and released all at once at the end of a
/// Scope. Allocates only if more is in use than ever before.
template <class T>
class Workspace {
 public:
  /// Releases, at its end, the memory taken since its beginning.
  class Scope {
   public:
    explicit Scope(Workspace& workspace)
        : workspace_(workspace), chunk_(workspace.chunk_), used_(workspace.used_) {}
    ~Scope() {
      workspace_.chunk_ = chunk_;
      workspace_.used_ = used_;
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    /// Returns rows x cols uninitialized numbers.
    TokenMap<T> take(Index rows, Index cols) { return workspace_.take(rows, cols); }

   private:
    Workspace& workspace_;
    std::size_t chunk_;
    std::size_t used_;
  };

  /// Number of values held.
  Index size() const {
    std::size_t sum = 0;
    for (const auto& chunk : chunks_) sum += chunk.size();
    return static_cast<Index>(sum);
  }

 private:
  static constexpr std::size_t kChunk = 1 << 14;
  static constexpr std::size_t kAlign = 16;

  TokenMap<T> take(Index rows, Index cols) {
    const auto wanted = static_cast<std::size_t>(rows * cols);
    const std::size_t size = (wanted + kAlign - 1) / kAlign * kAlign;
    while (chunk_ < chunks_.size() && used_ + size > chunks_[chunk_].size()) {
      ++chunk_;
      used_ = 0;
    }
    if (chunk_ == chunks_.size()) chunks_.emplace_back(std::max(size, kChunk));
    T* begin = chunks_[chunk_].data() + used_;
    used_ += size;
    return {begin, rows, cols};
  }

  std::vector<LineVector<T>> chunks_;
  std::size_t chunk_ = 0;
  std::size_t used_ = 0;
};

}  // namespace matapprox::attention
