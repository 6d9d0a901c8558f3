#include "core/large_pages.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace matapprox {

void prefer_large_pages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
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
