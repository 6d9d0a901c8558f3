#include "io/proportion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {

void require_proportion(double bytes,
                        double file_bytes,
                        const std::string& name,
                        const std::string& advice) {
  constexpr double kAlwaysAllowed = 128.0 * (1 << 20);
  constexpr double kBytesPerByte = 256;
  if (bytes > std::max(kAlwaysAllowed, kBytesPerByte * file_bytes)) {
    throw FileError(fmt::format(
        "{}: its {:.0f} bytes would need {:.3g} GB of memory, too much for a file of this size{}{}",
        name,
        file_bytes,
        bytes / 1e9,
        advice.empty() ? "" : "; ",
        advice));
  }
  require_memory(bytes, name);
}

double inflated_text_limit(double compressed_bytes) {
  constexpr double kAlwaysAllowed = 32.0 * (1 << 20);
  constexpr double kRatio = 32;
  return std::max(kAlwaysAllowed, kRatio * compressed_bytes);
}

double sparse_bytes(double rows, double cols, double entries) {
  return 32 * (rows + cols) + 40 * entries;
}

}  // namespace matapprox
