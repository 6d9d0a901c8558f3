#pragma once

#include <cstddef>

#include "grid.hpp"

namespace matapprox::cuda {

constexpr std::size_t kLargestAccess = 16;

constexpr std::size_t access_bytes(std::size_t bytes) {
  return bytes <= kLargestAccess ? bytes : kLargestAccess;
}

/// A few neighbouring numbers, moved in one access where they fit into 16 bytes.
template <class T, int kWidth>
struct alignas(access_bytes(sizeof(T) * static_cast<std::size_t>(kWidth))) Numbers {
  T values[static_cast<std::size_t>(kWidth)];
};

/// `from` is a multiple of kWidth numbers (of 16 bytes, where those are more).
template <class T, int kWidth>
MATAPPROX_HD Numbers<T, kWidth> load_numbers(const T* from) {
  return *reinterpret_cast<const Numbers<T, kWidth>*>(from);
}

template <class T, int kWidth>
MATAPPROX_HD void store_numbers(const Numbers<T, kWidth>& numbers, T* to) {
  *reinterpret_cast<Numbers<T, kWidth>*>(to) = numbers;
}

/// What no other thread will read soon: it need not push other things out of the cache.
template <class T>
MATAPPROX_HD T load_once(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldcs(from);
#else
  return *from;
#endif
}

/// Columns a thread can have, so that rows of `columns` numbers are read in pieces of 16 bytes or
/// in the largest pieces that divide them.
template <class T>
constexpr int widest(Index columns) {
  constexpr int kMost = static_cast<int>(kLargestAccess / sizeof(T));
  int width = kMost;
  while (columns % width != 0) width /= 2;
  return width;
}

}  // namespace matapprox::cuda
