#include "io/image_formats.hpp"

#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>
#include <png.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it
#include <cstring>

#include "matapprox/core/error.hpp"

// libjpeg and libpng report errors through callbacks that must not return: they longjmp to the
// function that called setjmp. Every function here that calls setjmp has only plain values at that
// time; objects with a destructor are in its caller.
namespace matapprox::images {
namespace {

struct Session {
  jpeg_error_mgr manager{};
  std::jmp_buf jump{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

void give_up(j_common_ptr jpeg) {
  auto* session = static_cast<Session*>(jpeg->client_data);
  jpeg->err->format_message(jpeg, session->message.data());
  std::longjmp(session->jump, 1);
}

/// Called for warnings (level -1) and traces. A decoder that continues after damaged data would
/// return invented pixels, so a warning is an error, except for stray bytes between segments and an
/// unknown Adobe transform.
void judge_message(j_common_ptr jpeg, int level) {
  if (level < 0 && jpeg->err->msg_code != JWRN_EXTRANEOUS_DATA &&
      jpeg->err->msg_code != JWRN_ADOBE_XFORM) {
    give_up(jpeg);
  }
}

void print_nothing(j_common_ptr) {}

struct JpegReader {
  explicit JpegReader(Session& session) {
    jpeg.err = jpeg_std_error(&session.manager);
    session.manager.error_exit = give_up;
    session.manager.emit_message = judge_message;
    session.manager.output_message = print_nothing;
    jpeg.client_data = &session;
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
  jpeg_decompress_struct jpeg{};
};

/// Reads the header and requests the luminance if the file has it, otherwise RGB.
bool start(JpegReader& reader, Session& session, std::string_view bytes) {
  if (setjmp(session.jump) != 0) return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.jpeg.client_data = &session;
  jpeg_mem_src(&reader.jpeg,
               reinterpret_cast<const unsigned char*>(bytes.data()),
               static_cast<unsigned long>(bytes.size()));
  jpeg_read_header(&reader.jpeg, TRUE);
  const bool has_luminance =
      reader.jpeg.jpeg_color_space == JCS_GRAYSCALE || reader.jpeg.jpeg_color_space == JCS_YCbCr;
  reader.jpeg.out_color_space = has_luminance ? JCS_GRAYSCALE : JCS_RGB;
  reader.jpeg.dct_method = JDCT_ISLOW;
  return true;
}

bool read_rows(JpegReader& reader, Session& session, unsigned char* rows, std::size_t row_bytes) {
  if (setjmp(session.jump) != 0) return false;
  jpeg_start_decompress(&reader.jpeg);
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    unsigned char* row = rows + reader.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&reader.jpeg);
  return true;
}

[[noreturn]] void fail(const std::string& name, const Session& session) {
  throw FileError(fmt::format("{}: damaged JPEG: {}", name, session.message.data()));
}

}  // namespace

GrayImage decode_jpeg(std::string_view bytes, const std::string& name) {
  Session session;
  JpegReader reader(session);
  if (!start(reader, session, bytes)) fail(name, session);
  const J_COLOR_SPACE stored = reader.jpeg.jpeg_color_space;
  if (stored != JCS_GRAYSCALE && stored != JCS_YCbCr && stored != JCS_RGB) {
    throw FileError(fmt::format(
        "{}: a JPEG in CMYK or another color space; only gray, YCbCr and RGB are read", name));
  }
  Samples samples;
  samples.rows = reader.jpeg.image_height;
  samples.cols = reader.jpeg.image_width;
  samples.channels = stored == JCS_RGB ? 3 : 1;
  require_size(samples.rows, samples.cols, bytes.size(), name);
  const auto row_bytes = static_cast<std::size_t>(samples.cols * samples.channels);
  samples.bytes.resize(static_cast<std::size_t>(samples.rows) * row_bytes);
  if (!read_rows(reader, session, samples.bytes.data(), row_bytes)) fail(name, session);
  GrayImage image = from_samples(samples);
  image.was_color = stored != JCS_GRAYSCALE;
  return image;
}

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
