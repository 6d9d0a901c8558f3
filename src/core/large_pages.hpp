#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace matapprox {

/// Advises the system to use large pages, where it supports them, for memory that is about to be
/// filled. A page fault every 4 kB costs a reader as much as the parsing, and a kernel that
/// accesses a dozen locations of a large panel at once waits longer for address translation than
/// for data. Results do not depend on this advice.
inline void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kSmallPage = 4096;
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  if (bytes < 2 * kLargePage) return;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::size_t skip = (kSmallPage - address % kSmallPage) % kSmallPage;
  madvise(
      static_cast<char*>(memory) + skip, (bytes - skip) / kSmallPage * kSmallPage, MADV_HUGEPAGE);
#endif
}

}  // namespace matapprox
