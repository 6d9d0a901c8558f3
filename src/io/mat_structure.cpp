#include "io/mat_structure.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "matapprox/core/error.hpp"

namespace matapprox::mat {

namespace {

constexpr std::size_t kHeaderBytes = 128;
constexpr std::uint32_t kMatrixElement = 14;
constexpr std::uint32_t kCompressedElement = 15;

std::uint32_t read_word(std::string_view bytes, std::size_t at, bool big_endian) {
  std::uint32_t word = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const std::size_t place = big_endian ? k : 3 - k;
    word = word << 8 | static_cast<unsigned char>(bytes[at + place]);
  }
  return word;
}

/// True if `data` is one whole zlib stream; discards the inflated bytes. Throws FileError if they
/// are more than `most`.
bool inflates(std::string_view data, std::uint64_t most, const std::string& name) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());  // an element has less than 4 GiB
  std::array<Bytef, 1 << 16> discarded{};
  int state = Z_OK;
  while (state == Z_OK) {
    stream.next_out = discarded.data();
    stream.avail_out = static_cast<uInt>(discarded.size());
    state = inflate(&stream, Z_NO_FLUSH);
    if (stream.total_out > most) break;
  }
  const bool too_long = stream.total_out > most;
  inflateEnd(&stream);
  if (too_long) {
    throw FileError(
        fmt::format("{}: a variable inflates to more than {} bytes, too much for its compressed "
                    "size; if that is correct, save it uncompressed (save -v7.3 or -v6)",
                    name,
                    most));
  }
  return state == Z_STREAM_END;
}

/// Largest number of bytes to which a compressed variable may inflate: libmatio uses up to six
/// times as many.
std::uint64_t most_of(std::uint64_t compressed) {
  return std::max(std::uint64_t{128} << 20, 64 * compressed);
}

void check_elements(std::string_view bytes, bool big_endian, const std::string& name) {
  std::size_t at = kHeaderBytes;
  while (at < bytes.size()) {
    if (bytes.size() - at < 8) throw FileError(fmt::format("{}: truncated at byte {}", name, at));
    const std::uint32_t type = read_word(bytes, at, big_endian);
    const std::uint32_t size = read_word(bytes, at + 4, big_endian);
    if (type != kMatrixElement && type != kCompressedElement) {
      throw FileError(fmt::format("{}: damaged: no variable starts at byte {}", name, at));
    }
    at += 8;
    if (size > bytes.size() - at) {
      throw FileError(
          fmt::format("{}: truncated: the variable at byte {} has {} bytes, but only {} remain",
                      name,
                      at - 8,
                      size,
                      bytes.size() - at));
    }
    if (type == kCompressedElement && !inflates(bytes.substr(at, size), most_of(size), name)) {
      throw FileError(fmt::format(
          "{}: damaged: the compressed variable at byte {} does not unpack", name, at - 8));
    }
    at += size;
  }
}

}  // namespace

Version check_structure(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) throw FileError(fmt::format("{}: the file is empty", name));
  const std::string_view mark = bytes.size() < kHeaderBytes ? "" : bytes.substr(126, 2);
  if (mark != "IM" && mark != "MI") {
    throw FileError(fmt::format("{}: not a MATLAB file of version 5 or 7.3", name));
  }
  const bool big_endian = mark == "MI";
  const int major = static_cast<unsigned char>(bytes[big_endian ? 124 : 125]);
  if (major == 2) {
    if (bytes.substr(std::min<std::size_t>(512, bytes.size()), 4) != "\x89HDF") {
      throw FileError(fmt::format("{}: truncated: no HDF5 part after the MATLAB 7.3 header", name));
    }
    return Version::k73;
  }
  if (major != 1) {
    throw FileError(fmt::format("{}: MATLAB file version {}; 5 and 7.3 are read", name, major));
  }
  check_elements(bytes, big_endian, name);
  return Version::k5;
}

}  // namespace matapprox::mat
