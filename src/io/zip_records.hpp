#pragma once

#include <cstddef>
#include <cstdint>

/// Signatures and sizes of the fixed parts of zip's records.
namespace matapprox::zip {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kEnd64LocatorSignature = 0x07064b50;
constexpr std::size_t kLocalSize = 30;
constexpr std::size_t kCentralSize = 46;
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kEnd64Size = 56;
constexpr std::size_t kEnd64LocatorSize = 20;
constexpr std::uint64_t kOnly64 = 0xFFFFFFFF;  ///< in a 32-bit field: see the ZIP64 record

}  // namespace matapprox::zip
