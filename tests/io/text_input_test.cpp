#include "io/text_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using ::testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

std::string write_file(const std::string& name, const std::string& content) {
  std::string path = test::temporary_dir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(ReadAll, PlainFiles) {
  EXPECT_EQ(read_all(write_file("a", "")).view(), "");
  EXPECT_EQ(read_all(write_file("a", "text\n")).view(), "text\n");
  const std::string large(5000000, 'x');
  EXPECT_EQ(read_all(write_file("a", large)).view(), large);
}

TEST(ReadAll, GzipIsKnownByItsFirstBytes) {
  std::string text;
  for (int k = 0; k < 300000; ++k) text += std::to_string(k) + "\n";
  EXPECT_EQ(read_all(write_file("a.gz", gzipped(text))).view(), text);
  EXPECT_EQ(read_all(write_file("a", gzipped("one") + gzipped("two"))).view(), "onetwo");
  EXPECT_EQ(read_all(write_file("a.gz", gzipped("padded") + std::string(512, '\0'))).view(),
            "padded");
  EXPECT_EQ(read_all(write_file("a.gz", gzipped(""))).view(), "");
}

TEST(ReadAll, GzipWorksForReaders) {
  const std::string path =
      write_file("a.mtx.gz", gzipped("%%MatrixMarket matrix array real general\n1 1\n4\n"));
  EXPECT_EQ(std::get<Matrix>(read_matrix_market(path))(0, 0), 4);
}

TEST(ReadAll, DamagedGzip) {
  const std::string good = gzipped(std::string(100000, 'a') + "end");
  for (std::size_t size = 2; size < good.size(); ++size) {
    EXPECT_THAT(test::complaint_of([&] { gunzip(good.substr(0, size), "a.gz"); }),
                HasSubstr("a.gz: "))
        << size;
  }
  std::string flipped = good;
  flipped[flipped.size() - 6] ^= 1;  // flips a bit of the checksum
  EXPECT_THAT(test::complaint_of([&] { gunzip(flipped, "a.gz"); }), HasSubstr("damaged gzip data"));
  EXPECT_THAT(test::complaint_of([&] { gunzip(good + "junk", "a.gz"); }),
              HasSubstr("4 bytes that are not gzip follow"));
  EXPECT_THAT(test::complaint_of([&] { gunzip(good, "a.gz", 1000); }),
              HasSubstr("a.gz: inflates to more than 1000 bytes"));
  EXPECT_EQ(gunzip(good, "a.gz", 100003).size(), 100003U);
  EXPECT_THAT(test::complaint_of([&] { read_all(write_file("a.gz", "plain text")); }),
              HasSubstr("does not start with a gzip header"));
}

TEST(ReadAll, WhatCannotBeRead) {
  const std::string folder = test::temporary_dir();
  EXPECT_THAT(test::complaint_of([&] { read_all(folder + "/none"); }),
              HasSubstr("/none: cannot read: No such file or directory"));
  EXPECT_THAT(test::complaint_of([&] { read_all(folder); }),
              HasSubstr("cannot read: it is a folder"));
}

TEST(ReadAll, Pipes) {
  // The size of a pipe is unknown; the buffer must grow.
  std::FILE* const pipe = popen("head -c 3000000 /dev/zero > /dev/null; echo done", "r");
  ASSERT_NE(pipe, nullptr);
  const std::string path = "/proc/self/fd/" + std::to_string(fileno(pipe));
  EXPECT_EQ(read_all(path).view(), "done\n");
  pclose(pipe);
  std::FILE* const large = popen("head -c 3000000 /dev/zero", "r");
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(read_all("/proc/self/fd/" + std::to_string(fileno(large))).size(), 3000000U);
  pclose(large);
}

TEST(DisplayName, StandardInput) {
  EXPECT_EQ(display_name("-"), "standard input");
  EXPECT_EQ(display_name("a.mtx"), "a.mtx");
}

}  // namespace
}  // namespace matapprox
