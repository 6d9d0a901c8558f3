#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "io/byte_stream.hpp"
#include "io/npy_header.hpp"
#include "io/zip.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/random_block.hpp"

namespace matapprox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string seed(const std::string& name) {
  return test::source_dir() + "/tests/fuzz/seeds/" + name;
}

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string npy_complaint(const std::string& bytes) {
  return test::complaint_of([&] { parse_npy(bytes, "x.npy"); });
}

template <class T>
std::string npy_bytes(std::vector<T> values, bool swapped = false) {
  std::string bytes;
  for (T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (swapped) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

template <class T>
std::string npy(const std::string& descr,
                const std::vector<T>& values,
                const std::string& shape,
                bool fortran = false) {
  return make_npy_header(descr, fortran, shape) + npy_bytes(values, descr[0] == '>');
}

// NumPy wrote the seeds.
TEST(Npy, FilesOfNumPy) {
  Matrix A(2, 3);
  A << 0, 1, 2, 3, 4, 5;
  EXPECT_EQ(read_npy(seed("npy/f8.npy")), A);
  EXPECT_EQ(read_npy(seed("npy/f4_fortran.npy")), A);
  EXPECT_EQ(read_npy(seed("npy/big_endian.npy")), Matrix(Vector{{0, 1, 2}}));
  EXPECT_EQ(read_npy(seed("npy/bool_v2.npy")), (Matrix{{1, 0}}));
  EXPECT_EQ(read_npy(seed("npy/u8_v3.npy")), (Matrix{{7}, {8}}));
  EXPECT_THAT(test::complaint_of([] { read_npy(seed("npy/complex.npy")); }),
              HasSubstr("type '<c16' is not supported; supported: bool"));
}

template <class T>
void expect_type(const std::string& type) {
  const std::vector<T> values{
      std::numeric_limits<T>::lowest(), T{0}, std::numeric_limits<T>::max()};
  Matrix A(3, 1);
  for (Index k = 0; k < 3; ++k) A(k, 0) = static_cast<double>(values[k]);
  EXPECT_EQ(parse_npy(npy("<" + type, values, "(3,)"), "x"), A) << type;
  EXPECT_EQ(parse_npy(npy(">" + type, values, "(3, 1)"), "x"), A) << type;
}

TEST(Npy, EveryTypeInBothByteOrders) {
  expect_type<std::int8_t>("i1");
  expect_type<std::int16_t>("i2");
  expect_type<std::int32_t>("i4");
  expect_type<std::int64_t>("i8");
  expect_type<std::uint8_t>("u1");
  expect_type<std::uint16_t>("u2");
  expect_type<std::uint32_t>("u4");
  expect_type<std::uint64_t>("u8");
  expect_type<float>("f4");
  expect_type<double>("f8");
  EXPECT_EQ(parse_npy(npy<std::uint8_t>("|b1", {1, 0}, "(1, 2)"), "x"), (Matrix{{1, 0}}));
}

TEST(Npy, OrdersAgreeBeyondOneTile) {
  std::vector<double> rows_first(std::size_t{70} * 45);
  std::vector<double> cols_first(rows_first.size());
  Matrix A(70, 45);
  for (Index i = 0; i < 70; ++i) {
    for (Index j = 0; j < 45; ++j)
      A(i, j) = rows_first[i * 45 + j] = cols_first[j * 70 + i] = static_cast<double>(100 * i + j);
  }
  EXPECT_EQ(parse_npy(npy("<f8", rows_first, "(70, 45)"), "x"), A);
  EXPECT_EQ(parse_npy(npy("<f8", cols_first, "(70, 45)", true), "x"), A);
}

TEST(Npy, Refusals) {
  const std::vector<double> four{1, 2, 3, 4};
  const std::string good = npy("<f8", four, "(2, 2)");
  EXPECT_THAT(npy_complaint(""), HasSubstr("x.npy: the file is empty"));
  EXPECT_THAT(npy_complaint("text"), HasSubstr("not a NumPy file"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_THAT(npy_complaint(good.substr(0, size)), HasSubstr("x.npy: ")) << size;
  }
  EXPECT_THAT(npy_complaint(good.substr(0, good.size() - 1)),
              HasSubstr("31 bytes of numbers, but 2 x 2 numbers of 8 bytes need 32"));
  EXPECT_THAT(npy_complaint(good + "x"), HasSubstr("33 bytes of numbers"));
  EXPECT_THAT(npy_complaint(npy("<c8", four, "(2, 2)")), HasSubstr("type '<c8' is not supported"));
  EXPECT_THAT(npy_complaint(npy("|O", four, "(2, 2)")), HasSubstr("type '|O' is not supported"));
  EXPECT_THAT(npy_complaint(npy("<f2", four, "(2, 2)")), HasSubstr("type '<f2'"));
  EXPECT_THAT(npy_complaint(npy("<f8", four, "(1, 2, 2)")),
              HasSubstr("the array has 3 dimensions; it must have 1 or 2"));
  EXPECT_THAT(npy_complaint(npy("<f8", four, "()")), HasSubstr("the array has 0 dimensions"));
  EXPECT_THAT(npy_complaint(npy<double>("<f8", {}, "(0, 2)")), HasSubstr("a 0 x 2 array is empty"));
  EXPECT_THAT(npy_complaint(npy("<f8", four, "(4000000000, 4000000000)")),
              HasSubstr("32 bytes of numbers, but 4000000000 x 4000000000"));
  EXPECT_THAT(npy_complaint(npy("<f8", four, "(-2, -2)")), HasSubstr("shape: '-2, -2)"));
  EXPECT_THAT(
      npy_complaint(npy<double>("<f8", {1, std::nan("")}, "(1, 2)")),
      HasSubstr(
          "x.npy: row 1, column 2, counted from 1: nan is not allowed; values must be finite"));
  std::string version = good;
  version[6] = 4;
  EXPECT_THAT(npy_complaint(version), HasSubstr("format version 4; it must be 1, 2 or 3"));
  std::string key = good;
  key[key.find("descr")] = 'x';
  EXPECT_THAT(npy_complaint(key), HasSubstr("unknown key 'xescr'"));
  std::string fields = good;
  fields.replace(fields.find("'<f8'"), 5, "[('a'");
  EXPECT_THAT(npy_complaint(fields), HasSubstr("structured arrays are not supported"));
  std::string order = good;
  order.replace(order.find("False"), 5, "Maybe");
  EXPECT_THAT(npy_complaint(order), HasSubstr("fortran_order must be True or False, not 'Maybe"));
}

TEST(Npy, WrittenFilesReadBack) {
  const std::string path = test::temporary_dir() + "/a.npy";
  Matrix A(3, 2);
  A << 1, 2, 3, 4, 0.1, -5e-324;
  write_npy(path, A);
  EXPECT_EQ(read_npy(path), A);
  EXPECT_EQ(content(path).find('\n') % 64, 63U);  // the numbers are aligned
}

TEST(Npz, FilesOfNumPy) {
  EXPECT_EQ(read_npz(seed("npz/stored.npz")), Matrix::Identity(2, 2));
  EXPECT_EQ(read_npz(seed("npz/deflated.npz")), Matrix::Identity(2, 2));
  EXPECT_EQ(read_npz(seed("npz/two.npz"), "b"), Matrix(Vector{{0, 1, 2}}));
  EXPECT_THAT(npz_variables(seed("npz/two.npz")), ElementsAre("a", "b"));
}

TEST(Npz, VariablesMustBeThere) {
  EXPECT_THAT(test::complaint_of([] { read_npz(seed("npz/two.npz")); }),
              HasSubstr("2 arrays; choose one: 'a', 'b'"));
  EXPECT_THAT(test::complaint_of([] { read_npz(seed("npz/two.npz"), "c"); }),
              HasSubstr("no array 'c'; the archive holds: 'a', 'b'"));
}

TEST(Npz, EveryCutIsRefused) {
  for (const char* const name : {"npz/stored.npz", "npz/deflated.npz"}) {
    const std::string bytes = content(seed(name));
    ASSERT_GT(bytes.size(), 100U);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(parse_npz(bytes.substr(0, size), "x.npz"), FileError) << size;
    }
  }
}

TEST(Npz, EveryFlippedByteIsRefusedOrHarmless) {
  for (const char* const name : {"npz/stored.npz", "npz/deflated.npz"}) {
    const std::string bytes = content(seed(name));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
      try {
        EXPECT_EQ(parse_npz(flipped, "x.npz"), Matrix::Identity(2, 2)) << at;
      } catch (const FileError&) {
        SUCCEED();
      }
    }
  }
}

TEST(Npz, LyingDirectory) {
  std::string bytes = content(seed("npz/deflated.npz"));
  const auto entry = bytes.find("PK\x01\x02");
  ASSERT_NE(entry, std::string::npos);
  std::string size = bytes;
  size.replace(entry + 24, 4, "\xff\xff\xff\x7f");
  EXPECT_THAT(test::complaint_of([&] { parse_npz(size, "x.npz"); }),
              HasSubstr("cannot inflate from"));
  std::string method = bytes;
  method[entry + 10] = 12;
  EXPECT_THAT(test::complaint_of([&] { parse_npz(method, "x.npz"); }),
              HasSubstr("packed by method 12; it must be 0 (stored) or 8 (deflated)"));
  std::string encrypted = bytes;
  encrypted[entry + 8] = 1;
  EXPECT_THAT(test::complaint_of([&] { parse_npz(encrypted, "x.npz"); }),
              HasSubstr("is encrypted"));
  std::string checksum = bytes;
  checksum[entry + 16] ^= 1;
  EXPECT_THAT(test::complaint_of([&] { parse_npz(checksum, "x.npz"); }),
              HasSubstr("its checksum does not match"));
}

// Layout of a member of more than 4 GB, with small numbers in the 64-bit fields.
TEST(Npz, Zip64FieldsAreRead) {
  std::string bytes = content(seed("npz/stored.npz"));
  const auto entry = bytes.find("PK\x01\x02");
  const auto end = bytes.find("PK\x05\x06");
  const std::uint64_t size = little_endian(bytes, entry + 24, 4);
  std::string directory = bytes.substr(entry, end - entry);
  for (const std::size_t field : {20U, 24U, 42U}) directory.replace(field, 4, "\xff\xff\xff\xff");
  directory.replace(30, 2, std::string("\x1c\x00", 2));
  append_little_endian(directory, 1, 2);
  append_little_endian(directory, 24, 2);
  append_little_endian(directory, size, 8);
  append_little_endian(directory, size, 8);
  append_little_endian(directory, 0, 8);
  std::string tail = "PK\x06\x06";
  for (const auto& [value, count] :
       std::vector<std::pair<std::uint64_t, std::size_t>>{{44, 8},
                                                          {45, 2},
                                                          {45, 2},
                                                          {0, 4},
                                                          {0, 4},
                                                          {1, 8},
                                                          {1, 8},
                                                          {directory.size(), 8},
                                                          {entry, 8}}) {
    append_little_endian(tail, value, count);
  }
  tail += "PK\x06\x07";
  append_little_endian(tail, 0, 4);
  append_little_endian(tail, entry + directory.size(), 8);
  append_little_endian(tail, 1, 4);
  std::string last = bytes.substr(end);
  last.replace(16, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(parse_npz(bytes.substr(0, entry) + directory + tail + last, "x.npz"),
            Matrix::Identity(2, 2));
}

TEST(Npz, WrittenArchivesReadBack) {
  const std::string path = test::temporary_dir() + "/a.npz";
  const Matrix A = test::random_block<Matrix>(4, 3, 1);
  const std::vector<NpzArray> arrays{{"A", A},
                                     {"v", Vector{{1, 2, 3}}},
                                     {"indices", std::vector<Index>{5, 6}},
                                     {"format", std::string("csr")}};
  write_npz(path, arrays);
  EXPECT_THAT(npz_variables(path), ElementsAre("A", "v", "indices", "format"));
  EXPECT_EQ(read_npz(path, "A"), A);
  EXPECT_EQ(read_npz(path, "v"), Matrix(Vector{{1, 2, 3}}));
  EXPECT_EQ(read_npz(path, "indices"), Matrix(Vector{{5, 6}}));
  EXPECT_THAT(test::complaint_of([&] { read_npz(path, "format"); }),
              HasSubstr("a.npz:format.npy: type '|S3' is not supported"));
  EXPECT_THROW(write_npz(path, std::vector<NpzArray>{{"", A}}), InvalidArgument);
  EXPECT_THROW(write_npz(path, std::vector<NpzArray>{{"a", A}, {"a", A}}), InvalidArgument);
  EXPECT_EQ(read_npz(path, "A"), A);
}

/// A file of several panels: all threads write their rows directly to the result.
template <class T>
void expect_read_in_panels(const std::string& descr, bool fortran) {
  constexpr Index kRows = 1501;
  constexpr Index kCols = 1203;
  std::vector<T> values(static_cast<std::size_t>(kRows * kCols));
  for (std::size_t k = 0; k < values.size(); ++k)
    values[k] = static_cast<T>((k * 31 + k / 7) % 113);
  const std::string path = test::temporary_dir() + "/panels.npy";
  std::ofstream(path, std::ios::binary)
      << npy<T>(descr, values, fmt::format("({}, {})", kRows, kCols), fortran);
  const Matrix A = read_npy(path);
  ASSERT_EQ(A.rows(), kRows);
  ASSERT_EQ(A.cols(), kCols);
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kCols; ++j) {
      const auto k = static_cast<std::size_t>(fortran ? i + j * kRows : i * kCols + j);
      ASSERT_EQ(A(i, j), static_cast<double>(values[k])) << i << ", " << j;
    }
  }
}

TEST(NumpyFile, LargeFilesAreReadInPanelsOfAnyTypeAndOrder) {
  for (const bool fortran : {false, true}) {
    expect_read_in_panels<double>("<f8", fortran);
    expect_read_in_panels<double>(">f8", fortran);
    expect_read_in_panels<float>("<f4", fortran);
    expect_read_in_panels<std::int16_t>(">i2", fortran);
    expect_read_in_panels<std::uint8_t>("|u1", fortran);
  }
}

TEST(NumpyFile, ALongHeaderAndAShortFileAreRefused) {
  const std::string path = test::temporary_dir() + "/cut.npy";
  std::string bytes = npy<double>("<f8", {1, 2, 3, 4}, "(2, 2)");
  bytes.pop_back();
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_THAT(test::complaint_of([&] { read_npy(path); }), HasSubstr("31 bytes of numbers"));
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      << std::string("\x93NUMPY\x02\x00\xff\xff\xff\x00", 12) << std::string(1 << 25, ' ');
  EXPECT_THAT(test::complaint_of([&] { read_npy(path); }), HasSubstr("too long"));
}

}  // namespace
}  // namespace matapprox
