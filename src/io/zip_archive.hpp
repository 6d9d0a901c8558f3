#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_input.hpp"

namespace matapprox {

/// One file inside a zip archive, as its directory describes it.
struct ZipMember {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;  ///< CRC-32 of the content
  std::string_view packed;     ///< its bytes in the archive
  std::uint64_t size = 0;      ///< bytes of the content
};

/// Reads the directory of a zip archive (APPNOTE 6.3, ZIP64 too). Throws FileError for anything
/// that points outside the bytes, and for encrypted, split or otherwise packed members.
std::vector<ZipMember> zip_directory(std::string_view bytes, const std::string& name);

/// Throws FileError if a file with this start is no zip archive.
void check_zip_start(std::string_view start, const std::string& name);

/// Returns the content of a member; checks size and checksum. The content is at most 1032 times the
/// packed bytes, the limit of deflate, and in proportion to them (require_proportion). Throws
/// FileError or NotAvailable.
InputBytes unpack(const ZipMember& member, const std::string& name);

/// CRC-32 of the bytes, continued from `checksum`.
std::uint32_t zip_checksum(std::string_view bytes, std::uint32_t checksum = 0);

}  // namespace matapprox
