#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/tasks/import/token_builder.hpp"
#include "io/text_input.hpp"

namespace matapprox::tasks {

/// The pixels of an image by rows, `channels` bytes each: a gray level, or red, green and blue.
struct Pixels8 {
  Index rows = 0;
  Index cols = 0;
  Index channels = 1;
  std::vector<unsigned char> bytes;
};

/// 0.299 R + 0.587 G + 0.114 B, rounded: 0..255.
std::int32_t gray_level(int red, int green, int blue);

/// Adds an image. With patch 0 each token is the gray level of a pixel, 0..255, by rows. Otherwise
/// each token is a square of patch x patch pixels, by rows of squares, with 2 v / 255 - 1 for each
/// channel v of its pixels, by rows. Throws FileError unless patch divides both sides.
void add_image(const Pixels8& pixels,
               Index label,
               std::optional<Split> split,
               const std::string& place,
               TokenBuilder& builder);

/// Reads PNG images and adds them, all of one size.
class ImageReader {
 public:
  /// Reads gray levels, or colors if `channels` is 3 and tokens are patches. `root` is for
  /// messages. All references must outlive the reader.
  ImageReader(const std::string& root, Index channels, TokenBuilder& builder)
      : root_(root), channels_(channels), builder_(builder) {}
  void add(std::string path, Index label, std::optional<Split> split);
  /// Reads and adds the images that are still queued.
  void finish();

 private:
  struct Listed {
    std::string path;
    Index label = 0;
    std::optional<Split> split;
    InputBytes bytes;
  };
  void load(Listed& image) const;
  Pixels8 decode(const Listed& image) const;

  const std::string& root_;
  Index channels_;
  TokenBuilder& builder_;
  std::vector<Listed> queue_;
  Index rows_ = 0;
  Index cols_ = 0;
};

}  // namespace matapprox::tasks
