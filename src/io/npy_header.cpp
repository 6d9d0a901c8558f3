#include "io/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "io/byte_stream.hpp"
#include "io/line_reader.hpp"
#include "io/number_text.hpp"
#include "io/table_reader.hpp"

namespace matapprox {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kAllowedTypes = "bool, integers of 1, 2, 4, 8 bytes, floats of 4 or 8 bytes";

/// Reads the Python dictionary in the header: {'descr': '<f8', 'fortran_order': False, 'shape': (3,
/// 4)}.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, const std::string& name)
      : p_(text.data()), end_(text.data() + text.size()), name_(name) {}

  void read() {
    expect('{');
    while (!take('}')) {
      const std::string_view key = string();
      expect(':');
      if (key == "descr") {
        descr = descriptor();
      } else if (key == "fortran_order") {
        fortran_order = boolean();
      } else if (key == "shape") {
        shape = sizes();
      } else {
        fail(fmt::format("unknown key {}; it must be descr, fortran_order or shape",
                         in_quotes(key)));
      }
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (p_ != end_) fail("the header continues after its dictionary");
    if (!descr || !fortran_order || !shape)
      fail("the header must have the keys descr, fortran_order and shape");
  }

  std::optional<std::string_view> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<Index>> shape;

 private:
  void skip() {
    while (p_ != end_ && (is_blank(*p_) || *p_ == '\n')) ++p_;
  }

  bool take(char c) {
    skip();
    if (p_ == end_ || *p_ != c) return false;
    ++p_;
    return true;
  }

  void expect(char c) {
    if (!take(c))
      fail(fmt::format("the header is malformed: '{}' is missing before {}", c, in_quotes(rest())));
  }

  std::string_view rest() const { return {p_, static_cast<std::size_t>(end_ - p_)}; }

  std::string_view string() {
    skip();
    const char quote = p_ == end_ ? ' ' : *p_;
    if (quote != '\'' && quote != '"')
      fail(fmt::format("the header is malformed at {}", in_quotes(rest())));
    const char* const start = ++p_;
    p_ = std::find(p_, end_, quote);
    if (p_ == end_) fail("the header ends within a string");
    return {start, static_cast<std::size_t>(p_++ - start)};
  }

  std::string_view descriptor() {
    skip();
    if (p_ != end_ && *p_ == '[')
      fail(fmt::format("structured arrays are not supported; supported: {}", kAllowedTypes));
    return string();
  }

  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"}) {
      if (rest().substr(0, word.size()) == word) {
        p_ += word.size();
        return word == "True";
      }
    }
    fail(fmt::format("fortran_order must be True or False, not {}", in_quotes(rest())));
  }

  std::vector<Index> sizes() {
    expect('(');
    std::vector<Index> values;
    while (!take(')')) {
      skip();
      Index value = 0;
      const char* const stop = read_whole(p_, end_, value);
      if (stop == nullptr)
        fail(fmt::format("shape: {} is not a size in 0..999999999999999999", in_quotes(rest())));
      p_ = stop;
      if (p_ != end_ && *p_ == 'L') ++p_;  // Python 2 wrote it after long integers
      values.push_back(value);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  [[noreturn]] void fail(const std::string& what) const { fail_in(name_, what); }

  const char* p_;
  const char* end_;
  const std::string& name_;
};

/// Parses a type such as "<f8".
void read_type(std::string_view descr, const std::string& name, FileNumbers& header) {
  const bool shaped =
      descr.size() == 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  const std::string_view type = shaped ? descr.substr(1) : std::string_view();
  constexpr std::array<std::string_view, 11> kTypes{
      "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"};
  if (std::find(kTypes.begin(), kTypes.end(), type) == kTypes.end()) {
    fail_in(
        name,
        fmt::format("type {} is not supported; supported: {}", in_quotes(descr), kAllowedTypes));
  }
  header.kind = type[0];
  header.item_size = type[1] - '0';
  header.big_endian = descr[0] == '>';
}

void read_shape(const std::vector<Index>& shape, const std::string& name, FileNumbers& header) {
  if (shape.empty() || shape.size() > 2) {
    fail_in(name, fmt::format("the array has {} dimensions; it must have 1 or 2", shape.size()));
  }
  header.rows = shape[0];
  header.cols = shape.size() == 2 ? shape[1] : 1;
  if (header.rows < 1 || header.cols < 1) {
    fail_in(name,
            fmt::format("a {} x {} array is empty, sizes start at 1", header.rows, header.cols));
  }
}

void check_length(Index file_bytes, const std::string& name, const FileNumbers& header) {
  Index count = 0;
  Index size = 0;
  const Index have = file_bytes - header.offset;
  if (__builtin_mul_overflow(header.rows, header.cols, &count) ||
      __builtin_mul_overflow(count, header.item_size, &size) || size != have) {
    fail_in(name,
            fmt::format("{} bytes of numbers, but {} x {} numbers of {} bytes need {}",
                        have,
                        header.rows,
                        header.cols,
                        header.item_size,
                        static_cast<double>(header.rows) * static_cast<double>(header.cols) *
                            static_cast<double>(header.item_size)));
  }
}

/// Number of bytes before the dictionary, and length of the dictionary.
struct HeaderSizes {
  std::size_t start;
  std::uint64_t length;
};

HeaderSizes header_sizes(std::string_view bytes, const std::string& name) {
  check_npy_start(bytes, name);
  if (bytes.size() < 12) fail_in(name, "the file is cut off within its header");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    fail_in(name, fmt::format("format version {}; it must be 1, 2 or 3", version));
  const std::size_t length_size = version == 1 ? 2 : 4;
  return {8 + length_size, little_endian(bytes, 8, length_size)};
}

FileNumbers read_dictionary(std::string_view text, const std::string& name) {
  DictionaryReader dictionary(text, name);
  dictionary.read();
  FileNumbers header;
  header.fortran_order = *dictionary.fortran_order;
  read_type(*dictionary.descr, name, header);
  read_shape(*dictionary.shape, name, header);
  return header;
}

}  // namespace

void check_npy_start(std::string_view start, const std::string& name) {
  if (start.substr(0, kMagic.size()) == kMagic) return;
  fail_in(name,
          start.empty() ? "the file is empty; a NumPy file starts with '\\x93NUMPY'"
                        : "not a NumPy file, which starts with '\\x93NUMPY'");
}

FileNumbers parse_npy_header(std::string_view bytes, Index file_bytes, const std::string& name) {
  const auto [start, length] = header_sizes(bytes, name);
  if (length > static_cast<std::uint64_t>(file_bytes) - start) {
    fail_in(name, fmt::format("the header of {} bytes goes beyond the end of the file", length));
  }
  if (length > bytes.size() - start)
    fail_in(name, fmt::format("the header of {} bytes is too long", length));
  FileNumbers header = read_dictionary(bytes.substr(start, length), name);
  header.offset = static_cast<Index>(start + length);
  check_length(file_bytes, name, header);
  return header;
}

Index npy_header_bytes(std::string_view start, const std::string& name) {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;
  const HeaderSizes sizes = header_sizes(start, name);
  if (sizes.length > kLongest)
    fail_in(name, fmt::format("the header of {} bytes is too long", sizes.length));
  return static_cast<Index>(sizes.start + sizes.length);
}

FileNumbers parse_npy_stream_header(std::string_view header, const std::string& name) {
  return read_dictionary(header.substr(header_sizes(header, name).start), name);
}

std::string make_npy_header(const std::string& descr,
                            bool fortran_order,
                            const std::string& shape) {
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}",
                                       descr,
                                       fortran_order ? "True" : "False",
                                       shape);
  // The numbers begin at a multiple of 64; a line end closes the header.
  constexpr std::size_t kFixed = 10;
  dictionary.append(63 - (kFixed + dictionary.size()) % 64, ' ');
  dictionary += '\n';
  std::string header(kMagic);
  header += '\x01';
  header += '\x00';
  append_little_endian(header, dictionary.size(), 2);
  return header + dictionary;
}

}  // namespace matapprox
