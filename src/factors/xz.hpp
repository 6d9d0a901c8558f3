#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace matapprox::xz {

/// False in a build without liblzma (MATAPPROX_WITH_LZMA).
bool is_available();

/// Returns the bytes as a stream in the xz format with a CRC-32; nothing if it would be longer than
/// `most` bytes. It is told whether they are numbers of 8 bytes. Throws Interrupted within a
/// StopScope, and NotAvailable if it cannot start.
std::optional<std::vector<std::uint8_t>> compressed(std::span<const std::uint8_t> bytes,
                                                    bool of_doubles,
                                                    std::size_t most);

/// Fills `to` from a stream. Throws InvalidArgument if the stream is damaged, holds another number
/// of bytes, or needs more than 64 MiB of memory to decompress, and NotAvailable in a build without
/// liblzma.
void decompress(std::span<const std::uint8_t> stream, std::span<std::uint8_t> to);

}  // namespace matapprox::xz
