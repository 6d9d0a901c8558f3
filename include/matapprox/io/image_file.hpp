#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// An image as a matrix: row 0 is the top line.
struct GrayImage {
  Matrix values;           ///< height x width
  double maximum = 255;    ///< value of white in the file
  bool was_color = false;  ///< values are the luminance 0.299 R + 0.587 G + 0.114 B (Rec. 601)
  bool had_alpha = false;  ///< transparency was ignored
};

/// Reads a PNG, JPEG or PGM (P2, P5) image; the format follows from the first bytes, not the name.
/// Values are as stored: 0..255 for 8 bits, 0..65535 for 16, 0..maxval for PGM. PNG samples of 1, 2
/// and 4 bits are widened to 0..255, palettes are looked up, color becomes luminance, transparency
/// is ignored. Cost: the file and 8 bytes per pixel. Throws FileError naming file and cause (also
/// where libpng or libjpeg would crash or hang), and NotAvailable if the image needs more memory
/// than there is.
GrayImage read_image(const std::string& path);

/// The same from bytes in memory; `name` begins the messages.
GrayImage parse_image(std::string_view bytes, const std::string& name);

/// True if the bytes begin like a PNG, JPEG or PGM file.
bool looks_like_image(std::string_view bytes);

/// Writes an 8-bit gray PNG, values rounded and clipped to 0..255, as a temporary file that is then
/// renamed. Throws FileError; InvalidArgument for an empty matrix or NaN.
void write_png(const std::string& path, const Matrix& values);

namespace images {

/// Red, green and blue of each of the 256 pixel values.
using PngPalette = std::array<std::array<unsigned char, 3>, 256>;

/// Returns the bytes of an 8-bit PNG: gray, or in the colors of `palette` unless it is null.
std::string encode_png(const std::vector<unsigned char>& pixels,
                       Index rows,
                       Index cols,
                       const std::string& name,
                       const PngPalette* palette = nullptr);

}  // namespace images

}  // namespace matapprox
