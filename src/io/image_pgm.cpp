#include <fmt/format.h>

#include "io/image_formats.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::images {

namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Reads the numbers of a PGM file; '#' starts a comment up to the end of the line.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  /// Reads the next number, which must be in lowest..highest.
  Index number(const char* what, Index lowest, Index highest) {
    skip_blanks_and_comments();
    const std::size_t start = at_;
    Index value = 0;
    while (at_ < bytes_.size() && bytes_[at_] >= '0' && bytes_[at_] <= '9') {
      if (value <= highest) value = 10 * value + (bytes_[at_] - '0');
      ++at_;
    }
    if (at_ == start) {
      throw FileError(
          at_ == bytes_.size()
              ? fmt::format("{}:{}: the file ends before {}", name_, line(), what)
              : fmt::format("{}:{}: no number where {} should be", name_, line(), what));
    }
    if (value < lowest || value > highest) {
      throw FileError(fmt::format("{}:{}: {} is {}, outside {}..{}",
                                  name_,
                                  line(),
                                  what,
                                  bytes_.substr(start, at_ - start).substr(0, 20),
                                  lowest,
                                  highest));
    }
    return value;
  }

  /// Returns the bytes after the single blank that ends the header.
  std::string_view rest() const { return at_ < bytes_.size() ? bytes_.substr(at_ + 1) : ""; }

  void require_end() {
    skip_blanks_and_comments();
    if (at_ < bytes_.size()) {
      throw FileError(fmt::format("{}:{}: more numbers than the header says", name_, line()));
    }
  }

 private:
  void skip_blanks_and_comments() {
    while (at_ < bytes_.size() && (is_blank(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#') {
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      } else {
        line_ += bytes_[at_] == '\n' ? 1 : 0;
        ++at_;
      }
    }
  }
  Index line() const { return line_; }

  std::string_view bytes_;
  const std::string& name_;
  std::size_t at_ = 2;  // after "P2" or "P5"
  Index line_ = 1;
};

void read_binary(std::string_view data,
                 Index bytes_each,
                 const std::string& name,
                 GrayImage& image) {
  Matrix& values = image.values;
  const Index wanted = values.size() * bytes_each;
  if (static_cast<Index>(data.size()) < wanted) {
    throw FileError(fmt::format(
        "{}: {} bytes of pixels where the header says {}: truncated", name, data.size(), wanted));
  }
  for (const char c : data.substr(static_cast<std::size_t>(wanted))) {
    if (!is_blank(c)) throw FileError(fmt::format("{}: more pixels than the header says", name));
  }
  const auto* at = reinterpret_cast<const unsigned char*>(data.data());
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j, at += bytes_each) {
      values(i, j) = bytes_each == 2 ? 256 * at[0] + at[1] : at[0];
      if (values(i, j) > image.maximum) {
        throw FileError(fmt::format("{}: row {}, column {}: {} is outside 0..{}",
                                    name,
                                    i + 1,
                                    j + 1,
                                    values(i, j),
                                    image.maximum));
      }
    }
  }
}

}  // namespace

GrayImage decode_pgm(std::string_view bytes, const std::string& name) {
  Reader reader(bytes, name);
  const Index cols = reader.number("the width", 1, kLargestSide);
  const Index rows = reader.number("the height", 1, kLargestSide);
  const Index maximum = reader.number("the largest gray value", 1, 65535);
  const bool is_text = bytes[1] == '2';
  const Index bytes_each = maximum > 255 ? 2 : 1;
  if (rows * cols > static_cast<Index>(bytes.size())) {  // each pixel takes at least a byte
    throw FileError(fmt::format("{}: {} bytes cannot hold the {} x {} pixels that the header says",
                                name,
                                bytes.size(),
                                rows,
                                cols));
  }
  require_size(rows, cols, bytes.size(), name);
  GrayImage image;
  image.maximum = static_cast<double>(maximum);
  image.values.resize(rows, cols);
  if (!is_text) {
    read_binary(reader.rest(), bytes_each, name, image);
    return image;
  }
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) {
      image.values(i, j) = static_cast<double>(reader.number("a gray value", 0, maximum));
    }
  }
  reader.require_end();
  return image;
}

}  // namespace matapprox::images
