#include "matapprox/io/safetensors.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Assembles a safetensors file from its two parts.
std::string tensor_file(const std::string& json, const std::string& data) {
  std::string size;
  for (std::size_t k = 0; k < 8; ++k) size += static_cast<char>(json.size() >> (8 * k) & 0xFF);
  return size + json + data;
}

std::string tensor_complaint(const std::string& bytes) {
  return test::complaint_of([&] { parse_safetensors(bytes, "x"); });
}

/// Error message for one tensor with this description and `size` bytes of data.
std::string entry_complaint(const std::string& entry, std::size_t size) {
  return tensor_complaint(tensor_file(R"({"a":)" + entry + "}", std::string(size, '\0')));
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<NamedTensor> tensor_examples() {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const double infinity = std::numeric_limits<double>::infinity();
  return {{"weights", {2, 3}, std::vector<float>{0.1F, -0.0F, tiny, 1e38F, -1, 3}},
          {"layer.0/\"q\" \\ \u00fc", {1, 2, 1}, std::vector<double>{0.1, -infinity}},
          {"step", {}, std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()}},
          {"none", {0, 4}, std::vector<float>{}},
          {"not a number", {1}, std::vector<double>{std::bit_cast<double>(0x7FF8000000000123)}}};
}

/// Bytes and shape of a tensor, read independently of the library.
std::pair<std::string, std::vector<Index>> found_in(const std::string& file,
                                                    const std::string& name) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), 8);
  const auto header = nlohmann::json::parse(file.substr(8, size));
  const auto& entry = header.at(name);
  const std::size_t begin = entry.at("data_offsets").at(0);
  const std::size_t end = entry.at("data_offsets").at(1);
  return {file.substr(8 + size + begin, end - begin), entry.at("shape").get<std::vector<Index>>()};
}

std::string bytes_of_values(const NamedTensor& tensor) {
  return std::visit([](const auto& values) { return raw_bytes(values); }, tensor.values);
}

TEST(Safetensors, WrittenFilesAreWhatTheFormatSays) {
  const std::string path = test::temporary_dir() + "/a.safetensors";
  write_safetensors(path, tensor_examples(), {{"config", "{\"layers\": 2}"}});
  const std::string file = test::read_file(path);
  std::uint64_t size = 0;
  std::memcpy(&size, file.data(), 8);
  EXPECT_EQ(size % 8, 0U);
  EXPECT_EQ(nlohmann::json::parse(file.substr(8, size)).at("__metadata__").at("config"),
            "{\"layers\": 2}");
  for (const NamedTensor& tensor : tensor_examples()) {
    const auto [bytes, shape] = found_in(file, tensor.name);
    EXPECT_EQ(bytes, bytes_of_values(tensor)) << tensor.name;
    EXPECT_EQ(shape, tensor.shape) << tensor.name;
  }
}

TEST(Safetensors, WrittenBytesAreExactlyThese) {
  const std::string path = test::temporary_dir() + "/a.safetensors";
  write_safetensors(path,
                    std::vector<NamedTensor>{{"b", {2}, std::vector<float>{1, -2}},
                                             {"a", {}, std::vector<double>{1.5}}},
                    {{"k", "v"}});
  const std::string json =
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
  ASSERT_EQ(json.size() % 8, 4U);
  const std::string data{'\0',
                         '\0',
                         '\0',
                         '\0',
                         '\0',
                         '\0',
                         '\xF8',
                         '\x3F',
                         '\0',
                         '\0',
                         '\x80',
                         '\x3F',
                         '\0',
                         '\0',
                         '\0',
                         '\xC0'};
  EXPECT_EQ(test::read_file(path), tensor_file(json + "    ", data));
}

TEST(Safetensors, RoundTripKeepsEveryBit) {
  const std::string path = test::temporary_dir() + "/a.safetensors";
  const auto examples = tensor_examples();
  write_safetensors(path, examples, {{"a", ""}, {"b", "\u00fc\n"}});
  const TensorFile back = read_safetensors(path);
  EXPECT_EQ(back.metadata, (std::map<std::string, std::string>{{"a", ""}, {"b", "\u00fc\n"}}));
  ASSERT_EQ(back.tensors.size(), examples.size());
  for (const NamedTensor& wanted : examples) {
    const auto same = std::find_if(back.tensors.begin(), back.tensors.end(), [&](const auto& one) {
      return one.name == wanted.name;
    });
    ASSERT_NE(same, back.tensors.end()) << wanted.name;
    EXPECT_EQ(same->shape, wanted.shape);
    EXPECT_EQ(same->values.index(), wanted.values.index());
    EXPECT_EQ(bytes_of_values(*same), bytes_of_values(wanted)) << wanted.name;
  }
  write_safetensors(path, {});
  EXPECT_EQ(test::read_file(path), tensor_file("{}      ", ""));
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
}

TEST(Safetensors, HandMadeFileOfEveryType) {
  const std::string json = R"({"u":{"dtype":"U8","shape":[2],"data_offsets":[26,28]},)"
                           R"("i":{"dtype":"I32","shape":[1,2],"data_offsets":[8,16]},)"
                           R"("l":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                           R"("h":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},)"
                           R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[22,26]}} )";
  const std::string data = raw_bytes<std::int64_t>({-5}) + raw_bytes<std::int32_t>({-7, 8}) +
                           raw_bytes<std::uint16_t>({0x3C00, 0xC500, 0x0001}) +
                           raw_bytes<std::uint16_t>({0x3F80, 0xC0A0}) +
                           raw_bytes<std::uint8_t>({0, 255});
  const TensorFile file = parse_safetensors(tensor_file(json, data), "x");
  ASSERT_EQ(file.tensors.size(), 5U);
  const auto integers = [&](std::size_t k) {
    return std::get<std::vector<std::int64_t>>(file.tensors[k].values);
  };
  const auto floats = [&](std::size_t k) {
    return std::get<std::vector<float>>(file.tensors[k].values);
  };
  EXPECT_EQ(file.tensors[0].name, "l");
  EXPECT_THAT(integers(0), ElementsAre(-5));
  EXPECT_THAT(file.tensors[1].shape, ElementsAre(1, 2));
  EXPECT_THAT(integers(1), ElementsAre(-7, 8));
  EXPECT_THAT(floats(2), ElementsAre(1.0F, -5.0F, 0x1p-24F));
  EXPECT_THAT(floats(3), ElementsAre(1.0F, -5.0F));
  EXPECT_THAT(integers(4), ElementsAre(0, 255));
}

TEST(Safetensors, EveryHalfIsWidenedAsEigenDoes) {
  std::vector<std::uint16_t> patterns(1 << 16);
  for (std::size_t k = 0; k < patterns.size(); ++k) patterns[k] = static_cast<std::uint16_t>(k);
  const std::string json = R"({"a":{"dtype":"F16","shape":[65536],"data_offsets":[0,131072]}})";
  const TensorFile file = parse_safetensors(tensor_file(json, raw_bytes(patterns)), "x");
  const auto& values = std::get<std::vector<float>>(file.tensors.at(0).values);
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    const float wanted =
        static_cast<float>(Eigen::half(Eigen::half_impl::raw_uint16_to_half(patterns[k])));
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(values[k])) << k;
    } else {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(values[k]), std::bit_cast<std::uint32_t>(wanted)) << k;
    }
  }
}

TEST(Safetensors, HeadersThatAreRefused) {
  EXPECT_THAT(tensor_complaint(""), HasSubstr("x: the file is empty"));
  EXPECT_THAT(tensor_complaint("1234567"), HasSubstr("cut off within the size"));
  EXPECT_THAT(tensor_complaint(raw_bytes<std::uint64_t>({3}) + "{}"),
              HasSubstr("the header of 3 bytes goes beyond the end"));
  EXPECT_THAT(tensor_complaint(raw_bytes<std::uint64_t>({~std::uint64_t{0}}) + "{}"),
              HasSubstr("a header of 18446744073709551615 bytes, at most 100000000 are read"));
  EXPECT_THAT(tensor_complaint(tensor_file("", "")), HasSubstr("must begin with '{'"));
  EXPECT_THAT(tensor_complaint(tensor_file(" {}", "")), HasSubstr("must begin with '{'"));
  EXPECT_THAT(tensor_complaint(tensor_file("[]", "")), HasSubstr("must begin with '{'"));
  EXPECT_THAT(tensor_complaint(tensor_file("{\"a\":", "")), HasSubstr("the header is not JSON"));
  EXPECT_THAT(tensor_complaint(tensor_file("{}x", "")), HasSubstr("error at its byte 3"));
  EXPECT_THAT(tensor_complaint(tensor_file("{\"\xFF\":1}", "")), HasSubstr("not JSON"));
  EXPECT_THAT(tensor_complaint(tensor_file(R"({"__metadata__":{"k":1}})", "")),
              HasSubstr("__metadata__ 'k' is 1; it must be text"));
  EXPECT_THAT(tensor_complaint(tensor_file(R"({"__metadata__":{"k":"1","k":"2"}})", "")),
              HasSubstr("has the key 'k' twice"));
  EXPECT_THAT(tensor_complaint(tensor_file(R"({"__metadata__":[]})", "")),
              HasSubstr("tensor '__metadata__' is a list; it must be an object"));
}

TEST(Safetensors, TensorsThatAreRefused) {
  const std::string good = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(entry_complaint(good, 8), "no error");
  EXPECT_THAT(entry_complaint(good + ",\"a\":" + good, 8), HasSubstr("tensor 'a' occurs twice"));
  EXPECT_THAT(entry_complaint(good, 9), HasSubstr("9 bytes of data; the tensors have 8"));
  EXPECT_THAT(entry_complaint(good, 7), HasSubstr("data_offsets 0..8, outside the 7 bytes"));
  EXPECT_THAT(entry_complaint("3", 0), HasSubstr("tensor 'a' is 3; it must be an object"));
  EXPECT_THAT(entry_complaint("{}", 0), HasSubstr("must have the keys dtype, shape and data"));
  EXPECT_THAT(entry_complaint(R"({"dtype":"C64"})", 0),
              HasSubstr("has type 'C64'; only F64, I64, F32, I32, F16, BF16, U8 are read"));
  EXPECT_THAT(entry_complaint(R"({"dtype":5})", 0), HasSubstr("has dtype 5; it must be text"));
  EXPECT_THAT(entry_complaint(R"({"dtype":"F32","dtype":"F32"})", 0),
              HasSubstr("has the key 'dtype' twice"));
  EXPECT_THAT(entry_complaint(R"({"type":"F32"})", 0), HasSubstr("has the key 'type'; it must be"));
  EXPECT_THAT(entry_complaint(R"({"shape":[-1]})", 0),
              HasSubstr("has shape -1; it must be a list"));
  EXPECT_THAT(entry_complaint(R"({"shape":[1.5]})", 0), HasSubstr("has shape '1.5'"));
  EXPECT_THAT(entry_complaint(R"({"shape":[[1]]})", 0), HasSubstr("has shape a list"));
  EXPECT_THAT(entry_complaint(R"({"shape":[9223372036854775807]})", 0),
              HasSubstr("has shape 9223"));
  EXPECT_THAT(entry_complaint(R"({"shape":null})", 0), HasSubstr("has shape null"));
  EXPECT_THAT(entry_complaint(R"({"shape":true})", 0), HasSubstr("has shape true"));
  EXPECT_THAT(entry_complaint(R"({"shape":{}})", 0), HasSubstr("has shape an object"));
  EXPECT_THAT(entry_complaint(R"({"data_offsets":[0]})", 0), HasSubstr("needs two data_offsets"));
  EXPECT_THAT(entry_complaint(R"({"data_offsets":[0,1,2]})", 0), HasSubstr("more than two"));
  EXPECT_THAT(entry_complaint(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})", 8),
              HasSubstr("data_offsets 8..0, outside the 8 bytes"));
  EXPECT_THAT(entry_complaint(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})", 8),
              HasSubstr("has 8 bytes, but its shape [3] of F32 needs 12"));
  EXPECT_THAT(
      entry_complaint(R"({"dtype":"F64","shape":[4294967296,536870912],"data_offsets":[0,0]})", 0),
      HasSubstr("needs more than 2^63"));
  std::string many = "1";
  for (int k = 0; k < 64; ++k) many += ",1";
  EXPECT_THAT(entry_complaint(R"({"shape":[)" + many + "]}", 0),
              HasSubstr("has more than 64 dimensions"));
}

TEST(Safetensors, TensorsMustFillTheData) {
  const auto two = [](const std::string& first, const std::string& second, std::size_t size) {
    return tensor_complaint(
        tensor_file(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[)" + first +
                        R"(]},"b":{"dtype":"U8","shape":[2],"data_offsets":[)" + second + "]}}",
                    std::string(size, '\0')));
  };
  EXPECT_EQ(two("0,2", "2,4", 4), "no error");
  EXPECT_EQ(two("2,4", "0,2", 4), "no error");
  EXPECT_THAT(two("0,2", "1,3", 3), HasSubstr("'b' begins at byte 1 of the data, the one before"));
  EXPECT_THAT(two("0,2", "0,2", 2), HasSubstr("'b' begins at byte 0 of the data"));
  EXPECT_THAT(two("0,2", "3,5", 5), HasSubstr("'b' begins at byte 3 of the data"));
  EXPECT_THAT(two("1,3", "3,5", 5), HasSubstr("'a' begins at byte 1 of the data"));
}

TEST(Safetensors, EveryCutAndEveryFlipIsAnswered) {
  const std::string path = test::temporary_dir() + "/a.safetensors";
  write_safetensors(path, tensor_examples(), {{"k", "v"}});
  const std::string whole = test::read_file(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(tensor_complaint(whole.substr(0, size)), "no error") << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    try {
      parse_safetensors(damaged, "x");
    } catch (const FileError&) {
      SUCCEED();
    }
  }
}

TEST(Safetensors, WhatCannotBeWritten) {
  const std::string path = test::temporary_dir() + "/a.safetensors";
  const auto write = [&](const NamedTensor& tensor) {
    write_safetensors(path, std::vector<NamedTensor>{tensor});
    return 0;
  };
  const std::vector<float> two{1, 2};
  EXPECT_REFUSED(InvalidArgument, write({"", {2}, two}), "a tensor has no name");
  EXPECT_REFUSED(InvalidArgument, write({"__metadata__", {2}, two}), "cannot be named");
  EXPECT_REFUSED(InvalidArgument, write({"a", {3}, two}), "'a' has 2 values, but its shape is [3]");
  EXPECT_REFUSED(InvalidArgument, write({"a", {-1, -2}, two}), "its shape is [-1, -2]");
  EXPECT_REFUSED(InvalidArgument, write({"\xFF", {2}, two}), "are not UTF-8");
  const std::vector<NamedTensor> twice{{"a", {2}, two}, {"a", {2}, two}};
  EXPECT_THROW(write_safetensors(path, twice), InvalidArgument);
  EXPECT_THROW(read_safetensors(path), FileError);  // no file was left behind
}

TEST(Safetensors, PythonReadsAndWritesTheSame) {
  if (std::system("python3 -c 'import safetensors.numpy' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "python3 with the packages safetensors and numpy is not installed";
  }
  const std::string folder = test::temporary_dir();
  write_safetensors(folder + "/ours", tensor_examples(), {{"k", "\u00fc"}});
  test::write_file(folder + "/copy.py", R"(
import sys
from safetensors import safe_open
from safetensors.numpy import save_file
with safe_open(sys.argv[1], framework="np") as f:
    save_file({k: f.get_tensor(k) for k in f.keys()}, sys.argv[2], f.metadata())
)");
  const std::string command =
      fmt::format("python3 {0}/copy.py {0}/ours {0}/theirs 2>{0}/log", folder);
  ASSERT_EQ(std::system(command.c_str()), 0) << test::read_file(folder + "/log");
  const TensorFile theirs = read_safetensors(folder + "/theirs");
  EXPECT_EQ(theirs.metadata.at("k"), "\u00fc");
  EXPECT_EQ(theirs.tensors.size(), tensor_examples().size());
  for (const NamedTensor& wanted : tensor_examples()) {
    const auto [bytes, shape] = found_in(test::read_file(folder + "/theirs"), wanted.name);
    EXPECT_EQ(bytes, bytes_of_values(wanted)) << wanted.name;
    EXPECT_EQ(shape, wanted.shape);
  }
}

}  // namespace
}  // namespace matapprox
