#include <gtest/gtest.h>
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

/// Makes a PNG of any color type and depth with libpng; samples are row-major and packed as libpng
/// packs them.
std::string make_png(Index rows,
                     Index cols,
                     int depth,
                     int color_type,
                     std::vector<unsigned char> samples,
                     int interlace = PNG_INTERLACE_NONE) {
  const std::string path = test::temporary_dir() + "/made.png";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png,
               info,
               static_cast<png_uint_32>(cols),
               static_cast<png_uint_32>(rows),
               depth,
               color_type,
               interlace,
               PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  const std::array<png_color, 2> palette{png_color{10, 10, 10}, png_color{255, 0, 0}};
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), 2);
  png_write_info(png, info);
  const std::size_t row_bytes = png_get_rowbytes(png, info);
  std::vector<png_bytep> lines;
  for (Index i = 0; i < rows; ++i) {
    lines.push_back(samples.data() + static_cast<std::size_t>(i) * row_bytes);
  }
  png_write_image(png, lines.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
  return test::read_file(path);
}

std::string make_jpeg(Index rows, Index cols, int channels, std::vector<unsigned char> samples) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_height = static_cast<JDIMENSION>(rows);
  jpeg.image_width = static_cast<JDIMENSION>(cols);
  jpeg.input_components = channels;
  jpeg.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  for (Index i = 0; i < rows; ++i) {
    unsigned char* row = samples.data() + i * cols * channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(buffer), size);
  jpeg_destroy_compress(&jpeg);
  std::free(buffer);
  return bytes;
}

Matrix pattern(Index rows, Index cols) {
  Matrix A(rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < cols; ++j) A(i, j) = static_cast<double>((37 * i + 11 * j * j) % 256);
  }
  return A;
}

TEST(Png, RoundTripOfGray) {
  const std::string path = test::temporary_dir() + "/a.png";
  const Matrix A = pattern(13, 7);
  write_png(path, A);
  const GrayImage image = read_image(path);
  EXPECT_SAME_BITS(image.values, A);
  EXPECT_FALSE(image.was_color);
  EXPECT_FALSE(image.had_alpha);
  EXPECT_EQ(image.maximum, 255);
}

TEST(Png, WritingRoundsAndClips) {
  const std::string path = test::temporary_dir() + "/a.png";
  write_png(path, (Matrix(1, 4) << -5, 0.5, 254.4, 1e9).finished());
  EXPECT_SAME_BITS(read_image(path).values, (Matrix(1, 4) << 0, 1, 254, 255).finished());
  EXPECT_REFUSED(InvalidArgument, write_png(path, Matrix(0, 3)), "empty");
  EXPECT_REFUSED(InvalidArgument, write_png(path, Matrix::Constant(1, 1, std::nan(""))), "NaN");
  EXPECT_REFUSED(
      FileError, write_png("/no/such/folder/a.png", Matrix::Ones(1, 1)), "does not exist");
}

TEST(Png, SixteenBitsAsStored) {
  const GrayImage image =
      parse_image(make_png(1, 2, 16, PNG_COLOR_TYPE_GRAY, {0x12, 0x34, 0xff, 0xff}), "a.png");
  EXPECT_SAME_BITS(image.values, (Matrix(1, 2) << 0x1234, 65535).finished());
  EXPECT_EQ(image.maximum, 65535);
}

TEST(Png, FewBitsAreWidened) {
  const GrayImage image =
      parse_image(make_png(1, 8, 1, PNG_COLOR_TYPE_GRAY, {0b10100000}), "a.png");
  EXPECT_SAME_BITS(image.values, (Matrix(1, 8) << 255, 0, 255, 0, 0, 0, 0, 0).finished());
  EXPECT_SAME_BITS(parse_image(make_png(1, 2, 4, PNG_COLOR_TYPE_GRAY, {0x1f}), "a.png").values,
                   (Matrix(1, 2) << 17, 255).finished());
}

TEST(Png, ColorBecomesLuminance) {
  const GrayImage image = parse_image(
      make_png(1, 3, 8, PNG_COLOR_TYPE_RGB, {255, 0, 0, 10, 20, 30, 77, 77, 77}), "a.png");
  EXPECT_TRUE(image.was_color);
  EXPECT_CLOSE(image.values, (Matrix(1, 3) << 76.245, 18.15, 77).finished(), test::rounding(2 * 5));
}

TEST(Png, ColorlessRgbIsGray) {
  const GrayImage image =
      parse_image(make_png(1, 2, 8, PNG_COLOR_TYPE_RGB, {1, 1, 1, 77, 77, 77}), "a.png");
  EXPECT_FALSE(image.was_color);
  EXPECT_SAME_BITS(image.values, (Matrix(1, 2) << 1, 77).finished());
}

TEST(Png, PaletteAndAlpha) {
  const GrayImage image =
      parse_image(make_png(1, 8, 1, PNG_COLOR_TYPE_PALETTE, {0b01000000}), "a.png");
  EXPECT_TRUE(image.was_color);
  EXPECT_CLOSE(
      image.values.leftCols(2), (Matrix(1, 2) << 10, 76.245).finished(), test::rounding(2 * 5));
  const GrayImage alpha =
      parse_image(make_png(1, 2, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {5, 0, 6, 255}), "a.png");
  EXPECT_TRUE(alpha.had_alpha);
  EXPECT_SAME_BITS(alpha.values, (Matrix(1, 2) << 5, 6).finished());
}

TEST(Png, Interlaced) {
  const Matrix A = pattern(9, 9);
  std::vector<unsigned char> samples;
  for (Index i = 0; i < 9; ++i) {
    for (Index j = 0; j < 9; ++j) samples.push_back(static_cast<unsigned char>(A(i, j)));
  }
  const std::string bytes = make_png(9, 9, 8, PNG_COLOR_TYPE_GRAY, samples, PNG_INTERLACE_ADAM7);
  EXPECT_SAME_BITS(parse_image(bytes, "a.png").values, A);
}

TEST(Png, HeaderThatPromisesTooMuch) {
  std::string bytes = make_png(1, 1, 8, PNG_COLOR_TYPE_GRAY, {7});
  const auto set_side = [&](std::size_t at, std::uint32_t side) {
    for (std::size_t k = 0; k < 4; ++k) bytes[at + k] = static_cast<char>(side >> (24 - 8 * k));
    const uLong sum = crc32(0, reinterpret_cast<const Bytef*>(bytes.data() + 12), 17);
    for (std::size_t k = 0; k < 4; ++k) bytes[29 + k] = static_cast<char>(sum >> (24 - 8 * k));
  };
  set_side(16, 500000);
  set_side(20, 500000);
  EXPECT_REFUSED(FileError, parse_image(bytes, "a.png"), "cannot hold the 500000 x 500000 pixels");
  set_side(16, 1U << 30);
  EXPECT_REFUSED(FileError, parse_image(bytes, "a.png"), "a.png: damaged PNG");
}

TEST(Png, MatchesThePaperImages) {
  const std::string folder = test::shared_matrices();
  if (folder.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  const GrayImage image = read_image(folder + "/image/apple.png");
  EXPECT_EQ(image.values.rows(), 256);
  EXPECT_EQ(image.values.cols(), 256);
  EXPECT_FALSE(image.was_color);
  EXPECT_EQ(read_image(folder + "/extra/coins.png").values.cols(), 384);
}

TEST(Jpeg, GrayWithinTheCodecsRounding) {
  Matrix A(16, 24);
  std::vector<unsigned char> samples;
  for (Index i = 0; i < 16; ++i) {
    for (Index j = 0; j < 24; ++j) {
      A(i, j) = static_cast<double>(8 * i + 4 * j);
      samples.push_back(static_cast<unsigned char>(A(i, j)));
    }
  }
  const GrayImage image = parse_image(make_jpeg(16, 24, 1, samples), "a.jpg");
  ASSERT_EQ(image.values.rows(), 16);
  ASSERT_EQ(image.values.cols(), 24);
  EXPECT_LE((image.values - A).cwiseAbs().maxCoeff(), 2);
  EXPECT_FALSE(image.was_color);
}

TEST(Jpeg, ColorGivesLuminanceAndCmykIsRefused) {
  std::vector<unsigned char> red;
  for (int k = 0; k < 64; ++k) red.insert(red.end(), {255, 0, 0});
  const GrayImage image = parse_image(make_jpeg(8, 8, 3, red), "a.jpg");
  EXPECT_TRUE(image.was_color);
  EXPECT_NEAR(image.values(4, 4), 76, 1.5);
  EXPECT_REFUSED(FileError,
                 parse_image(make_jpeg(8, 8, 4, std::vector<unsigned char>(256, 9)), "a.jpg"),
                 "CMYK");
}

TEST(Pgm, TextAndBinary) {
  const GrayImage text = parse_image("P2 # gray\n3 2\n# largest\n9\n0 1 2\n7 8 9\n", "a.pgm");
  EXPECT_SAME_BITS(text.values, (Matrix(2, 3) << 0, 1, 2, 7, 8, 9).finished());
  EXPECT_EQ(text.maximum, 9);
  const GrayImage wide = parse_image(std::string("P5\n2 1\n65535\n\x01\x02\xff\xff", 17), "a.pgm");
  EXPECT_SAME_BITS(wide.values, (Matrix(1, 2) << 258, 65535).finished());
  const GrayImage narrow = parse_image(std::string("P5 2 1 255 \x07\xff", 13), "a.pgm");
  EXPECT_SAME_BITS(narrow.values, (Matrix(1, 2) << 7, 255).finished());
}

TEST(Pgm, Refusals) {
  const auto refused = [](const std::string& bytes, const std::string& part) {
    EXPECT_REFUSED(FileError, parse_image(bytes, "a.pgm"), part);
  };
  refused("P2\n0 2\n9\n", "a.pgm:2: the width is 0, outside 1..1048576");
  refused("P2\nx 2\n9\n", "a.pgm:2: no number where the width should be");
  refused("P2\n2 2\n70000\n0 0 0 0", "a.pgm:3: the largest gray value is 70000, outside 1..65535");
  refused("P2\n2 2\n9\n0 0\n0 10", "a.pgm:5: a gray value is 10, outside 0..9");
  refused("P2\n2 2\n9\n0 0\n0", "the file ends before a gray value");
  refused("P2\n1 1\n9\n0 0\n", "more numbers than the header says");
  refused("P2\n999999999999999999999 2\n9\n", "the width is");
  refused("P5\n100 100\n255\n12", "cannot hold the 100 x 100 pixels");
  refused("P5\n4 4\n255\n0123456789", "10 bytes of pixels where the header says 16");
  refused("P5\n1 1\n9\n\xff", "255 is outside 0..9");
  refused("P5\n1 1\n255\nab", "more pixels than the header says");
  refused("P3\n1 1\n255\n1 1 1", "not an image");
  refused("", "empty");
}

class DamagedImages : public ::testing::TestWithParam<std::string> {};

TEST_P(DamagedImages, AreFileErrorsOrImages) {
  std::vector<unsigned char> samples(std::size_t{48} * 48);
  for (std::size_t k = 0; k < samples.size(); ++k) samples[k] = static_cast<unsigned char>(k * 7);
  const std::string whole = GetParam() == "png" ? make_png(48, 48, 8, PNG_COLOR_TYPE_GRAY, samples)
                                                : make_jpeg(48, 48, 1, samples);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_THROW(parse_image(whole.substr(0, whole.size() * k / 20), "a." + GetParam()), FileError);
  }
  for (Index trial = 0; trial < 200; ++trial) {
    std::string damaged = whole;
    const Index place =
        random_index(5, RandomStream::kSampling, trial, 0, static_cast<Index>(whole.size()));
    damaged[static_cast<std::size_t>(place)] ^=
        static_cast<char>(1 + random_index(5, RandomStream::kSampling, trial, 1, 255));
    try {
      EXPECT_GT(parse_image(damaged, "a." + GetParam()).values.size(), 0);
    } catch (const FileError&) {
    } catch (const NotAvailable&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         DamagedImages,
                         ::testing::Values("png", "jpg"),
                         [](const auto& instance) { return instance.param; });

TEST(Images, MissingFile) {
  EXPECT_THROW(read_image(test::temporary_dir() + "/missing.png"), FileError);
}

// libpng itself uses black for such a pixel.
TEST(Png, AnIndexBeyondThePaletteIsRefused) {
  const std::string complaint = test::complaint_of([] {
    parse_image(make_png(2, 4, 2, PNG_COLOR_TYPE_PALETTE, {0b00010001, 0b00011101}), "a.png");
  });
  EXPECT_THAT(complaint, testing::HasSubstr("a.png: damaged PNG: pixel (1, 2)"));
  EXPECT_THAT(complaint, testing::HasSubstr("has the color 3; those of the palette are 0..1"));
  // The padding after the last pixel of a row is not a pixel.
  const GrayImage image =
      parse_image(make_png(1, 3, 2, PNG_COLOR_TYPE_PALETTE, {0b00010011}), "b.png");
  EXPECT_EQ(image.values(0, 0), 10);
  EXPECT_EQ(image.values(0, 2), 10);
  EXPECT_TRUE(image.was_color);
}

}  // namespace
}  // namespace matapprox
