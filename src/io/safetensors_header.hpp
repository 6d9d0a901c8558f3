#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::safetensors {

/// Number types that are read, largest first.
enum class Type { kF64, kI64, kF32, kI32, kF16, kBf16, kU8 };
constexpr std::array<std::string_view, 7> kTypeNames{
    "F64", "I64", "F32", "I32", "F16", "BF16", "U8"};
constexpr std::array<Index, 7> kTypeBytes{8, 8, 4, 4, 2, 2, 1};

/// A tensor as the header describes it; its numbers are bytes begin .. end - 1 after the header.
struct Entry {
  std::string name;
  Type type = Type::kF32;
  std::vector<Index> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<Entry> entries;  ///< in the order of their data, which they fill without holes
  std::map<std::string, std::string> metadata;
  std::size_t data = 0;  ///< position of the numbers
};

/// Throws FileError like parse_safetensors.
Header parse_header(std::string_view bytes, const std::string& file);

/// Returns the size field and the JSON, padded with spaces to a multiple of 8. Throws
/// InvalidArgument for text that is not UTF-8, starting with `file`.
std::string make_header(const std::vector<Entry>& entries,
                        const std::map<std::string, std::string>& metadata,
                        const std::string& file);

}  // namespace matapprox::safetensors
