#include "factors/xz.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::xz {

bool is_available() { return false; }

std::optional<std::vector<std::uint8_t>> compressed(std::span<const std::uint8_t>,
                                                    bool,
                                                    std::size_t) {
  throw NotAvailable("this build has no liblzma; configure it with MATAPPROX_WITH_LZMA=ON");
}

void decompress(std::span<const std::uint8_t>, std::span<std::uint8_t>) {
  throw NotAvailable(
      "compressed matrices: this build has no liblzma; configure it with MATAPPROX_WITH_LZMA=ON");
}

}  // namespace matapprox::xz
