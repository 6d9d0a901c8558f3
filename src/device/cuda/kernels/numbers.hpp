#pragma once

#include <cstddef>
#include <type_traits>

#include "grid.hpp"

namespace matapprox::cuda {

constexpr std::size_t kLargestAccess = 16;

constexpr std::size_t access_bytes(std::size_t bytes) {
  return bytes <= kLargestAccess ? bytes : kLargestAccess;
}

/// A few contiguous numbers, moved in one access if they fit into 16 bytes.
template <class T, int kWidth>
struct alignas(access_bytes(sizeof(T) * static_cast<std::size_t>(kWidth))) Numbers {
  T values[static_cast<std::size_t>(kWidth)];
};

/// `from` is aligned to kWidth numbers (to 16 bytes if those are more).
template <class T, int kWidth>
MATAPPROX_HD Numbers<T, kWidth> load_numbers(const T* from) {
  return *reinterpret_cast<const Numbers<T, kWidth>*>(from);
}

/// `to` is in the memory of the queue and aligned like `from` above.
template <class T, int kWidth>
MATAPPROX_HD void store_numbers(const Numbers<T, kWidth>& numbers, T* to) {
#ifdef __CUDA_ARCH__
  // Explicit instructions: nvcc splits some assignments into single numbers, even of a float4.
  const auto& v = numbers.values;
  if constexpr (std::is_same_v<T, float> && kWidth == 4) {
    asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to),
                 "f"(v[0]),
                 "f"(v[1]),
                 "f"(v[2]),
                 "f"(v[3])
                 : "memory");
  } else if constexpr (std::is_same_v<T, float> && kWidth == 2) {
    asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(to), "f"(v[0]), "f"(v[1]) : "memory");
  } else if constexpr (std::is_same_v<T, double> && kWidth % 2 == 0) {
    for (int c = 0; c < kWidth; c += 2) {
      asm volatile("st.global.v2.f64 [%0], {%1, %2};" ::"l"(to + c), "d"(v[c]), "d"(v[c + 1])
                   : "memory");
    }
  } else {
    static_assert(kWidth == 1);
    *to = v[0];
  }
#else
  *reinterpret_cast<Numbers<T, kWidth>*>(to) = numbers;
#endif
}

/// Loads a number that no other thread reads soon, without displacing other data in the cache.
template <class T>
MATAPPROX_HD T load_once(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldcs(from);
#else
  return *from;
#endif
}

/// Loads a number that this block reads once and others soon: only into the second-level cache.
template <class T>
MATAPPROX_HD T load_for_others(const T* from) {
#ifdef __CUDA_ARCH__
  return __ldcg(from);
#else
  return *from;
#endif
}

/// Returns the number of columns per thread such that rows of `columns` numbers are read in pieces
/// of 16 bytes, or in the largest pieces that divide them.
template <class T>
constexpr int widest(Index columns) {
  constexpr int kMax = static_cast<int>(kLargestAccess / sizeof(T));
  int width = kMax;
  while (columns % width != 0) width /= 2;
  return width;
}

}  // namespace matapprox::cuda
