#include "attention/tasks/import/image_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "io/image_formats.hpp"
#include "io/table_reader.hpp"
#include "io/trial_read.hpp"

namespace matapprox::tasks {
namespace {

constexpr std::size_t kLargestImageFile = std::size_t{1} << 22;
constexpr std::size_t kImagesAtOnce = 1000;
constexpr Index kColors = 3;

/// The pixels of an image: gray levels, unchanged or from colors, or three colors.
Pixels8 pixels_of(const images::Samples& samples, Index channels) {
  const bool has_color = samples.channels >= kColors;
  Pixels8 pixels{samples.rows, samples.cols, channels, {}};
  pixels.bytes.reserve(static_cast<std::size_t>(samples.rows * samples.cols * channels));
  const unsigned char* at = samples.bytes.data();
  for (Index k = 0; k < samples.rows * samples.cols; ++k, at += samples.channels) {
    const unsigned char red = at[0];
    const unsigned char green = has_color ? at[1] : red;
    const unsigned char blue = has_color ? at[2] : red;
    if (channels == kColors) {
      pixels.bytes.insert(pixels.bytes.end(), {red, green, blue});
    } else {
      pixels.bytes.push_back(static_cast<unsigned char>(gray_level(red, green, blue)));
    }
  }
  return pixels;
}

std::int32_t gray_of(const Pixels8& pixels, std::size_t k) {
  if (pixels.channels == 1) return pixels.bytes[k];
  const unsigned char* const color = pixels.bytes.data() + static_cast<Index>(k) * kColors;
  return gray_level(color[0], color[1], color[2]);
}

std::vector<float> patches_of(const Pixels8& pixels, Index patch) {
  constexpr float kHalf = 127.5F;
  std::vector<float> values;
  values.reserve(pixels.bytes.size());
  const Index row_bytes = pixels.cols * pixels.channels;
  const Index patch_bytes = patch * pixels.channels;
  for (Index top = 0; top < pixels.rows; top += patch) {
    for (Index left = 0; left < row_bytes; left += patch_bytes) {
      for (Index row = top; row < top + patch; ++row) {
        const auto first = pixels.bytes.begin() + row * row_bytes + left;
        std::transform(
            first, first + patch_bytes, std::back_inserter(values), [](unsigned char value) {
              return static_cast<float>(value) / kHalf - 1;
            });
      }
    }
  }
  return values;
}

}  // namespace

std::int32_t gray_level(int red, int green, int blue) {
  return (299 * red + 587 * green + 114 * blue + 500) / 1000;
}

void add_image(const Pixels8& pixels,
               Index label,
               std::optional<Split> split,
               const std::string& place,
               TokenBuilder& builder) {
  const Index patch = builder.options().patch;
  if (patch == 0) {
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(pixels.rows * pixels.cols));
    for (std::size_t k = 0; k < tokens.size(); ++k) tokens[k] = gray_of(pixels, k);
    builder.add(tokens, label, split, place);
    return;
  }
  if (pixels.rows % patch != 0 || pixels.cols % patch != 0) {
    fail_in(place,
            fmt::format("{} x {} pixels cannot be cut into patches of {} x {}",
                        pixels.rows,
                        pixels.cols,
                        patch,
                        patch));
  }
  builder.add_features(
      patches_of(pixels, patch), patch * patch * pixels.channels, label, split, place);
}

void ImageReader::add(std::string path, Index label, std::optional<Split> split) {
  queue_.push_back({std::move(path), label, split, {}});
  if (queue_.size() == kImagesAtOnce) finish();
}

void ImageReader::load(Listed& image) const {
  image.bytes = read_all(image.path);
  if (image.bytes.size() == 0 && !builder_.options().skip_empty) {
    fail_in(image.path, "the file is empty; skip_empty leaves such images out");
  }
  if (image.bytes.size() > kLargestImageFile) {
    fail_in(image.path,
            fmt::format(
                "{} bytes; an image may have at most {}", image.bytes.size(), kLargestImageFile));
  }
}

Pixels8 ImageReader::decode(const Listed& image) const {
  const images::Samples samples = images::png_samples(image.bytes, image.path);
  if (samples.wide) fail_in(image.path, "samples of 16 bits; at most 8 are supported");
  return pixels_of(samples, builder_.options().patch > 0 ? channels_ : 1);
}

/// Decodes the queued images, first in one sandboxed read: one for each image would be slow.
void ImageReader::finish() {
  for (Listed& image : queue_) load(image);
  std::erase_if(queue_, [](const Listed& image) { return image.bytes.size() == 0; });
  if (queue_.empty()) return;
  constexpr double kSecondsAnImage = 0.1;
  try_read({.path = root_,
            .library = "PNG",
            .read =
                [&] {
                  for (const Listed& image : queue_) decode(image);
                },
            .seconds = 30 + kSecondsAnImage * static_cast<double>(queue_.size())});
  for (const Listed& image : queue_) {
    const Pixels8 pixels = decode(image);
    if (rows_ == 0) std::tie(rows_, cols_) = std::pair(pixels.rows, pixels.cols);
    if (pixels.rows != rows_ || pixels.cols != cols_) {
      fail_in(image.path,
              fmt::format("{} x {} pixels; the images before have {} x {}",
                          pixels.rows,
                          pixels.cols,
                          rows_,
                          cols_));
    }
    add_image(pixels, image.label, image.split, image.path, builder_);
  }
  queue_.clear();
}

}  // namespace matapprox::tasks
