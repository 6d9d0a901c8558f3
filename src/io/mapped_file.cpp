#include "io/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "matapprox/core/error.hpp"

namespace matapprox {

MappedFile::MappedFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    throw FileError(
        fmt::format("{}: cannot open: {}", path, std::generic_category().message(errno)));
  }
  struct stat status {};
  const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  size_ = regular ? static_cast<std::size_t>(status.st_size) : 0;
  if (size_ > 0) bytes_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int code = errno;
  close(descriptor);
  if (!regular) throw FileError(fmt::format("{}: not a regular file", path));
  if (bytes_ == MAP_FAILED) {
    throw FileError(
        fmt::format("{}: cannot read: {}", path, std::generic_category().message(code)));
  }
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) munmap(bytes_, size_);
}

}  // namespace matapprox
