#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/image_formats.hpp"
#include "io/proportion.hpp"
#include "io/text_input.hpp"
#include "io/trial_read.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/atomic_output.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {

namespace {

bool is_png(std::string_view bytes) { return bytes.substr(0, 8) == "\x89PNG\r\n\x1a\n"; }
bool is_jpeg(std::string_view bytes) { return bytes.substr(0, 3) == "\xff\xd8\xff"; }
bool is_pgm(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '2' || bytes[1] == '5') &&
         (bytes[2] == '#' || bytes[2] == ' ' || (bytes[2] >= '\t' && bytes[2] <= '\r'));
}

GrayImage decode(std::string_view bytes, const std::string& name) {
  if (is_png(bytes)) return images::decode_png(bytes, name);
  if (is_jpeg(bytes)) return images::decode_jpeg(bytes, name);
  if (is_pgm(bytes)) return images::decode_pgm(bytes, name);
  throw FileError(
      fmt::format("{}: not an image: only PNG, JPEG and PGM (P2, P5) are read, and the first bytes "
                  "match none of them",
                  name));
}

void require_image(std::string_view start, const std::string& name) {
  if (!start.empty() && !looks_like_image(start)) decode(start, name);  // throws
}

}  // namespace

namespace images {

void require_size(Index rows, Index cols, std::size_t file_bytes, const std::string& name) {
  if (rows < 1 || cols < 1 || rows > kLargestSide || cols > kLargestSide) {
    throw FileError(fmt::format("{}: an image of {} x {} pixels; sides of 1..{} are supported",
                                name,
                                rows,
                                cols,
                                kLargestSide));
  }
  // The matrix, and the decoder's samples of up to 8 bytes a pixel.
  require_proportion(16.0 * static_cast<double>(rows) * static_cast<double>(cols),
                     static_cast<double>(file_bytes),
                     name,
                     fmt::format("for {} x {} pixels", rows, cols));
}

GrayImage from_samples(const Samples& samples) {
  GrayImage image;
  image.maximum = samples.wide ? 65535 : 255;
  image.had_alpha = samples.channels % 2 == 0;
  image.values.resize(samples.rows, samples.cols);
  const Index width = samples.wide ? 2 : 1;
  const auto sample = [&](const unsigned char* at) {
    return samples.wide ? 256.0 * at[0] + at[1] : 1.0 * at[0];
  };
  const unsigned char* at = samples.bytes.data();
  for (Index i = 0; i < samples.rows; ++i) {
    for (Index j = 0; j < samples.cols; ++j, at += samples.channels * width) {
      const double first = sample(at);
      image.values(i, j) = first;
      if (samples.channels < 3) continue;
      const double green = sample(at + width);
      const double blue = sample(at + 2 * width);
      if (first == green && green == blue) continue;
      image.was_color = true;
      image.values(i, j) = luminance(first, green, blue);
    }
  }
  return image;
}

}  // namespace images

bool looks_like_image(std::string_view bytes) {
  return is_png(bytes) || is_jpeg(bytes) || is_pgm(bytes);
}

GrayImage parse_image(std::string_view bytes, const std::string& name) {
  if (bytes.empty()) throw FileError(fmt::format("{}: the file is empty", name));
  if (is_png(bytes)) try_read({name, "PNG", [&] { decode(bytes, name); }});
  if (is_jpeg(bytes)) try_read({name, "JPEG", [&] { decode(bytes, name); }});
  return decode(bytes, name);
}

GrayImage read_image(const std::string& path) {
  const InputBytes bytes = read_all(path, require_image);
  return parse_image(bytes, display_name(path));
}

void write_png(const std::string& path, const Matrix& values) {
  require(values.size() > 0, "{}: an empty matrix cannot be written as an image", path);
  require(values.allFinite(), "{}: NaN or Inf cannot be written as an image", path);
  require(values.rows() <= images::kLargestSide && values.cols() <= images::kLargestSide,
          "{}: {} x {} pixels; sides of 1..{} can be written",
          path,
          values.rows(),
          values.cols(),
          images::kLargestSide);
  std::vector<unsigned char> pixels(static_cast<std::size_t>(values.size()));
  auto next = pixels.begin();
  for (Index i = 0; i < values.rows(); ++i) {
    for (Index j = 0; j < values.cols(); ++j) {
      *next++ = static_cast<unsigned char>(std::lround(std::clamp(values(i, j), 0.0, 255.0)));
    }
  }
  AtomicOutput output(path);
  output.write(images::encode_png(pixels, values.rows(), values.cols(), path));
  output.commit();
}

}  // namespace matapprox
