#include <fmt/format.h>
#include <jerror.h>
#include <jpeglib.h>

#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it

#include "io/image_formats.hpp"
#include "matapprox/core/error.hpp"

// libjpeg reports errors through callbacks that must not return: they longjmp to the function that
// called setjmp, which has only plain values at that time.
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

}  // namespace matapprox::images
