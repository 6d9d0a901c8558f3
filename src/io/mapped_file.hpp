#pragma once

#include <string>
#include <string_view>

namespace matapprox {

/// The bytes of a regular file, mapped for reading; nothing is copied.
class MappedFile {
 public:
  /// Throws FileError if the file is missing, unreadable or not a regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view view() const { return {static_cast<const char*>(bytes_), size_}; }

 private:
  void* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace matapprox
