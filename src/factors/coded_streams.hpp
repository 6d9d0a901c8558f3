#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "matapprox/core/require.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Bytes of the length of a stream in a file.
inline constexpr std::size_t kLengthBytes = 4;

/// Returns the streams that stand in `data` without gaps; `lengths` has the bytes of each. Throws
/// InvalidArgument, which names `kind`, unless there are `count` streams that fill the data.
inline std::vector<std::span<const std::uint8_t>> coded_streams(std::span<const std::uint8_t> data,
                                                                std::span<const Index> lengths,
                                                                std::size_t count,
                                                                std::string_view kind) {
  std::vector<std::span<const std::uint8_t>> streams;
  std::size_t used = 0;
  for (const Index length : lengths) {
    if (length < 0 || static_cast<std::size_t>(length) > data.size() - used) break;
    streams.push_back(data.subspan(used, static_cast<std::size_t>(length)));
    used += static_cast<std::size_t>(length);
  }
  require(lengths.size() == count && streams.size() == count && used == data.size(),
          "{}: {} bytes in {} streams do not match {} lengths",
          kind,
          data.size(),
          count,
          lengths.size());
  return streams;
}

}  // namespace matapprox
