#pragma once

#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/block_workers.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::blocks {

/// Writes values one after the other in their memory representation, for ranks of one program on
/// CPUs of the same kind.
class MessageWriter {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  /// Writes the number of values first.
  template <class T>
  void add_all(const T* values, Index count) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(count);
    append(values, static_cast<std::size_t>(count) * sizeof(T));
  }
  template <class T>
  void add_all(const std::vector<T>& values) {
    add_all(values.data(), std::ssize(values));
  }
  MessageBytes take() { return std::move(bytes_); }

 private:
  void append(const void* values, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  MessageBytes bytes_;
};

/// Reads the values of a MessageWriter in the same order. Throws InvalidArgument if a message ends
/// too soon.
class MessageReader {
 public:
  /// Keeps a reference to the bytes.
  explicit MessageReader(std::span<const std::byte> bytes) : left_(bytes) {}

  bool at_end() const { return left_.empty(); }
  template <class T>
  T next() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, take(1, sizeof value), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> next_all() {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto count = next<Index>();
    const std::byte* first = take(count, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) std::memcpy(values.data(), first, values.size() * sizeof(T));
    return values;
  }

 private:
  const std::byte* take(Index count, std::size_t size) {
    const auto most = static_cast<Index>(left_.size() / size);
    require(count >= 0 && count <= most, "hierarchical: a message between processes is cut off");
    const std::byte* first = left_.data();
    left_ = left_.subspan(static_cast<std::size_t>(count) * size);
    return first;
  }

  std::span<const std::byte> left_;
};

}  // namespace matapprox::blocks
