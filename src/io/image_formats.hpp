#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/io/matrix_files.hpp"

// One decoder per image format, without a trial. All throw FileError starting with `name`.
namespace matapprox::images {

constexpr Index kLargestSide = Index{1} << 20;

/// Output of a decoder: rows of 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGB, alpha) samples of one
/// byte, or of two, high byte first.
struct Samples {
  Index rows = 0;
  Index cols = 0;
  Index channels = 1;
  bool wide = false;
  std::vector<unsigned char> bytes;
};

/// 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601).
inline double luminance(double red, double green, double blue) {
  return (299 * red + 587 * green + 114 * blue) / 1000;
}

/// Throws FileError for a side outside 1..kLargestSide and for pixels out of proportion to the
/// bytes of the file, NotAvailable if memory is short.
void require_size(Index rows, Index cols, std::size_t file_bytes, const std::string& name);
/// Converts samples to gray. A pixel with R = G = B keeps that value; was_color is true if there is
/// any other pixel.
GrayImage from_samples(const Samples& samples);

/// Returns the samples of a PNG unchanged; palette indices are replaced by their colors.
Samples png_samples(std::string_view bytes, const std::string& name);
GrayImage decode_png(std::string_view bytes, const std::string& name);
GrayImage decode_jpeg(std::string_view bytes, const std::string& name);
GrayImage decode_pgm(std::string_view bytes, const std::string& name);

}  // namespace matapprox::images
