#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_input.hpp"
#include "io/text_output.hpp"

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

/// Writes a zip archive of stored members, with ZIP64 fields if a size or an offset needs them. The
/// same members give the same bytes. Throws FileError.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : out_(path) {}
  /// Adds a member whose content is these pieces, one after the other.
  void add(const std::string& name, const std::vector<std::string_view>& pieces);
  void finish();

  struct Entry {
    std::string name;
    std::uint32_t checksum = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
  };

 private:
  void write(std::string_view record);

  TextOutput out_;
  std::vector<Entry> entries_;
  std::uint64_t position_ = 0;
};

}  // namespace matapprox
