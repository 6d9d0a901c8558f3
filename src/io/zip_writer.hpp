#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_output.hpp"

namespace matapprox {

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
