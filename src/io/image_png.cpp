#include <fmt/format.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstring>

#include "io/image_formats.hpp"
#include "matapprox/core/error.hpp"

// libpng reports errors by longjmp. Every function that calls setjmp here has only plain values at
// that time; objects with a destructor are in the caller.
namespace matapprox::images {

namespace {

struct PngSession {
  std::array<char, 200> message{};
  const unsigned char* next = nullptr;
  std::size_t left = 0;
};

void keep_error(png_structp png, png_const_charp message) {
  auto* session = static_cast<PngSession*>(png_get_error_ptr(png));
  std::strncpy(session->message.data(), message, session->message.size() - 1);
  longjmp(png_jmpbuf(png), 1);
}

void ignore_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep target, std::size_t count) {
  auto* session = static_cast<PngSession*>(png_get_io_ptr(png));
  if (session->left < count) png_error(png, "the file is truncated");
  std::memcpy(target, session->next, count);
  session->next += count;
  session->left -= count;
}

/// libpng's two structs, freed together.
struct PngReader {
  explicit PngReader(PngSession& session)
      : png(png_create_read_struct(PNG_LIBPNG_VER_STRING, &session, keep_error, ignore_warning)),
        info(png != nullptr ? png_create_info_struct(png) : nullptr) {}
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  png_structp png;
  png_infop info;
};

/// Reads up to the pixels and requests one or two bytes per sample, or one index per byte for
/// images with a palette.
bool start(PngReader& reader, PngSession& session) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &session, read_bytes);
  png_set_user_limits(reader.png, kLargestSide, kLargestSide);
  // Texts and color profiles, which nothing here uses, may inflate a thousandfold.
  png_set_chunk_cache_max(reader.png, 8);
  png_set_chunk_malloc_max(reader.png, 1 << 20);
  png_set_crc_action(reader.png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
  png_read_info(reader.png, reader.info);
  if (png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_PALETTE) {
    png_set_packing(reader.png);
  } else {
    png_set_expand(reader.png);
  }
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

/// Colors of a palette, and their opacity if the file has it.
struct Colors {
  png_colorp values = nullptr;
  int count = 0;
  png_bytep opacity = nullptr;
  int opacities = 0;
};

Colors palette_of(const PngReader& reader) {
  Colors colors;
  png_get_PLTE(reader.png, reader.info, &colors.values, &colors.count);
  png_get_tRNS(reader.png, reader.info, &colors.opacity, &colors.opacities, nullptr);
  return colors;
}

/// Replaces the palette indices by colors. libpng itself would use black for an index that the
/// palette does not have.
void look_up(const Colors& colors, const std::string& name, Samples& samples) {
  const bool has_opacity = colors.opacities > 0;
  std::vector<unsigned char> looked_up;
  looked_up.reserve(samples.bytes.size() * (has_opacity ? 4 : 3));
  for (std::size_t at = 0; at < samples.bytes.size(); ++at) {
    const int index = samples.bytes[at];
    if (index >= colors.count) {
      const auto width = static_cast<std::size_t>(samples.cols);
      throw FileError(
          fmt::format("{}: damaged PNG: pixel ({}, {}), counted from 0, has the color {}; those of "
                      "the palette are 0..{}",
                      name,
                      at / width,
                      at % width,
                      index,
                      colors.count - 1));
    }
    const png_color& color = colors.values[index];
    looked_up.insert(looked_up.end(), {color.red, color.green, color.blue});
    if (has_opacity) looked_up.push_back(index < colors.opacities ? colors.opacity[index] : 255);
  }
  samples.bytes = std::move(looked_up);
  samples.channels = has_opacity ? 4 : 3;
}

[[noreturn]] void fail_png(const std::string& name, const PngSession& session) {
  throw FileError(fmt::format("{}: damaged PNG: {}", name, session.message.data()));
}

/// Throws if the file is too small for the pixels that the header declares: deflate compresses at
/// most 1032 to 1.
void require_plausible(const PngReader& reader, std::size_t file_bytes, const std::string& name) {
  const double promised = static_cast<double>(png_get_image_height(reader.png, reader.info)) *
                          static_cast<double>(png_get_image_width(reader.png, reader.info)) *
                          png_get_bit_depth(reader.png, reader.info) / 8;
  if (promised / 8 > 1032.0 * static_cast<double>(file_bytes)) {
    throw FileError(fmt::format("{}: {} bytes cannot hold the {} x {} pixels that the header says",
                                name,
                                file_bytes,
                                png_get_image_height(reader.png, reader.info),
                                png_get_image_width(reader.png, reader.info)));
  }
}

struct Sink {
  std::string bytes;
};

void write_bytes(png_structp png, png_bytep source, std::size_t count) {
  static_cast<Sink*>(png_get_io_ptr(png))
      ->bytes.append(reinterpret_cast<const char*>(source), count);
}

void flush_nothing(png_structp) {}

bool write_all(png_structp png,
               png_infop info,
               png_bytepp rows,
               Index height,
               Index width,
               const png_color* palette) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_IHDR(png,
               info,
               static_cast<png_uint_32>(width),
               static_cast<png_uint_32>(height),
               8,
               palette != nullptr ? PNG_COLOR_TYPE_PALETTE : PNG_COLOR_TYPE_GRAY,
               PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (palette != nullptr) png_set_PLTE(png, info, palette, 256);
  png_write_info(png, info);
  png_write_image(png, rows);
  png_write_end(png, nullptr);
  return true;
}

}  // namespace

Samples png_samples(std::string_view bytes, const std::string& name) {
  PngSession session;
  session.next = reinterpret_cast<const unsigned char*>(bytes.data());
  session.left = bytes.size();
  PngReader reader(session);
  if (reader.info == nullptr) throw NotAvailable(name + ": libpng cannot start");
  if (!start(reader, session)) fail_png(name, session);
  Samples samples;
  samples.rows = png_get_image_height(reader.png, reader.info);
  samples.cols = png_get_image_width(reader.png, reader.info);
  require_plausible(reader, bytes.size(), name);
  require_size(samples.rows, samples.cols, bytes.size(), name);
  samples.channels = png_get_channels(reader.png, reader.info);
  samples.wide = png_get_bit_depth(reader.png, reader.info) == 16;
  const std::size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  samples.bytes.resize(static_cast<std::size_t>(samples.rows) * row_bytes);
  std::vector<png_bytep> rows(static_cast<std::size_t>(samples.rows));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = samples.bytes.data() + i * row_bytes;
  if (!read_rows(reader, rows.data())) fail_png(name, session);
  if (png_get_color_type(reader.png, reader.info) == PNG_COLOR_TYPE_PALETTE)
    look_up(palette_of(reader), name, samples);
  return samples;
}

GrayImage decode_png(std::string_view bytes, const std::string& name) {
  return from_samples(png_samples(bytes, name));
}

std::string encode_png(const std::vector<unsigned char>& pixels,
                       Index rows,
                       Index cols,
                       const std::string& name,
                       const PngPalette* palette) {
  PngSession session;
  Sink sink;
  std::array<png_color, 256> colors{};
  for (std::size_t i = 0; palette != nullptr && i < colors.size(); ++i)
    colors[i] = {(*palette)[i][0], (*palette)[i][1], (*palette)[i][2]};
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, &session, keep_error, ignore_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  std::vector<unsigned char> copy = pixels;  // libpng's interface requires mutable rows
  std::vector<png_bytep> lines;
  for (Index i = 0; i < rows; ++i) lines.push_back(copy.data() + i * cols);
  bool written = false;
  if (info != nullptr) {
    png_set_write_fn(png, &sink, write_bytes, flush_nothing);
    written = write_all(
        png, info, lines.data(), rows, cols, palette != nullptr ? colors.data() : nullptr);
  }
  png_destroy_write_struct(&png, &info);
  if (!written) {
    throw FileError(fmt::format("{}: cannot write a PNG: {}", name, session.message.data()));
  }
  return std::move(sink.bytes);
}

}  // namespace matapprox::images
