#include "io/safetensors_header.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "io/byte_stream.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::safetensors {
namespace {

constexpr std::size_t kSizeField = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::size_t kMaxDimensions = 64;
constexpr const char* kMetadataKey = "__metadata__";

/// Reads the header while it is parsed. Keeps only allowed content, so that memory does not exceed
/// a small multiple of the header.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  bool null() override { refuse("null"); }
  bool boolean(bool value) override { refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { refuse(fmt::format("{}", value)); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    refuse(in_quotes(text));
  }
  bool binary(binary_t& /*value*/) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    constexpr number_unsigned_t kLargest = number_unsigned_t{1} << 62;
    if (where_ != Where::kShape && where_ != Where::kOffsets) refuse(fmt::format("{}", value));
    if (value > kLargest) refuse(fmt::format("{}", value));
    if (where_ == Where::kShape) {
      if (entries.back().shape.size() >= kMaxDimensions) {
        fail(fmt::format("has more than {} dimensions", kMaxDimensions));
      }
      entries.back().shape.push_back(static_cast<Index>(value));
      return true;
    }
    if (offsets_ >= 2) fail("has more than two data_offsets");
    (offsets_++ == 0 ? entries.back().begin : entries.back().end) = value;
    return true;
  }

  bool string(string_t& value) override {
    if (where_ == Where::kMetadata) {
      metadata[key_] = value;
      return true;
    }
    if (where_ != Where::kTensor || key_ != "dtype") refuse(in_quotes(value));
    const auto* const found = std::find(kTypeNames.begin(), kTypeNames.end(), value);
    if (found == kTypeNames.end()) {
      fail(fmt::format(
          "has type {}; only {} are read", in_quotes(value), fmt::join(kTypeNames, ", ")));
    }
    entries.back().type = static_cast<Type>(found - kTypeNames.begin());
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (where_ == Where::kOutside) {
      where_ = Where::kTop;
    } else if (where_ == Where::kTop && tensor_ == kMetadataKey) {
      where_ = Where::kMetadata;
    } else if (where_ == Where::kTop) {
      where_ = Where::kTensor;
      entries.emplace_back().name = tensor_;
    } else {
      refuse("an object");
    }
    keys_.clear();
    return true;
  }

  bool key(string_t& value) override {
    const bool fresh =
        where_ == Where::kTop ? names_.insert(value).second : keys_.insert(value).second;
    if (where_ == Where::kTop) {
      tensor_ = value;
      if (!fresh) fail("occurs twice");
      return true;
    }
    key_ = value;
    if (!fresh) fail(fmt::format("has the key {} twice", in_quotes(value)));
    const bool known = value == "dtype" || value == "shape" || value == "data_offsets";
    if (where_ == Where::kTensor && !known) {
      fail(
          fmt::format("has the key {}; it must be dtype, shape or data_offsets", in_quotes(value)));
    }
    return true;
  }

  bool end_object() override {
    if (where_ == Where::kTensor && keys_.size() != 3) {
      fail("must have the keys dtype, shape and data_offsets");
    }
    where_ = where_ == Where::kTop ? Where::kOutside : Where::kTop;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (where_ == Where::kTensor && key_ == "shape") {
      where_ = Where::kShape;
    } else if (where_ == Where::kTensor && key_ == "data_offsets") {
      where_ = Where::kOffsets;
      offsets_ = 0;
    } else {
      refuse("a list");
    }
    return true;
  }

  bool end_array() override {
    if (where_ == Where::kOffsets && offsets_ != 2) fail("needs two data_offsets");
    where_ = Where::kTensor;
    return true;
  }

  bool parse_error(std::size_t at,
                   const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    fail_in(file_, fmt::format("the header is not JSON: error at its byte {}", at));
  }

 private:
  enum class Where { kOutside, kTop, kMetadata, kTensor, kShape, kOffsets };

  [[noreturn]] void fail(const std::string& what) const {
    fail_in(file_, fmt::format("tensor {} {}", in_quotes(tensor_), what));
  }

  /// Throws for a value that is not allowed here.
  [[noreturn]] void refuse(const std::string& value) const {
    if (where_ == Where::kOutside) {
      fail_in(file_, fmt::format("the header is {}; it must be an object", value));
    }
    if (where_ == Where::kMetadata) {
      fail_in(file_,
              fmt::format("{} {} is {}; it must be text", kMetadataKey, in_quotes(key_), value));
    }
    if (where_ == Where::kTop) fail(fmt::format("is {}; it must be an object", value));
    const char* const wanted = key_ == "dtype" ? "text" : "a list of whole numbers in 0..2^62";
    fail(fmt::format("has {} {}; it must be {}", key_, value, wanted));
  }

  const std::string& file_;
  Where where_ = Where::kOutside;
  std::set<std::string> names_;
  std::set<std::string> keys_;
  std::string tensor_;
  std::string key_;
  int offsets_ = 0;
};

/// Number of bytes that a shape requires; nothing if it overflows.
std::optional<std::uint64_t> bytes_of_shape(const Entry& entry) {
  // A dimension of 0 makes all others irrelevant, however large they are.
  if (std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end()) return 0;
  Index bytes = kTypeBytes[static_cast<std::size_t>(entry.type)];
  for (const Index extent : entry.shape) {
    if (__builtin_mul_overflow(bytes, extent, &bytes)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(bytes);
}

void check_place(const Entry& entry, std::uint64_t have, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    fail_in(file, fmt::format("tensor {} {}", in_quotes(entry.name), what));
  };
  if (entry.begin > entry.end || entry.end > have) {
    fail(fmt::format(
        "has data_offsets {}..{}, outside the {} bytes of data", entry.begin, entry.end, have));
  }
  const auto wanted = bytes_of_shape(entry);
  if (wanted != entry.end - entry.begin) {
    fail(fmt::format("has {} bytes, but its shape [{}] of {} needs {}",
                     entry.end - entry.begin,
                     fmt::join(entry.shape, ", "),
                     kTypeNames[static_cast<std::size_t>(entry.type)],
                     wanted ? std::to_string(*wanted) : "more than 2^63"));
  }
}

/// Sorts the tensors by position; throws unless they fill the data without holes and overlaps.
void check_tiling(std::vector<Entry>& entries, std::uint64_t have, const std::string& file) {
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  std::uint64_t next = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != next) {
      fail_in(file,
              fmt::format("tensor {} begins at byte {} of the data, the one before ends at {}",
                          in_quotes(entry.name),
                          entry.begin,
                          next));
    }
    next = entry.end;
  }
  if (next != have) {
    fail_in(file, fmt::format("{} bytes of data; the tensors have {}", have, next));
  }
}

}  // namespace

Header parse_header(std::string_view bytes, const std::string& file) {
  if (bytes.empty()) fail_in(file, "the file is empty; a safetensors file has 10 bytes or more");
  if (bytes.size() < kSizeField) fail_in(file, "the file is cut off within the size of its header");
  const std::uint64_t size = little_endian(bytes, 0, kSizeField);
  if (size > kLargestHeader) {
    fail_in(file,
            fmt::format("not a safetensors file, or damaged: a header of {} bytes, at most {} are "
                        "read",
                        size,
                        kLargestHeader));
  }
  if (size > bytes.size() - kSizeField) {
    fail_in(file, fmt::format("the header of {} bytes goes beyond the end of the file", size));
  }
  const std::string_view json = bytes.substr(kSizeField, size);
  if (json.empty() || json.front() != '{') {
    fail_in(file, "not a safetensors file: the header must begin with '{'");
  }
  HeaderReader reader(file);
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  const std::uint64_t have = bytes.size() - kSizeField - size;
  for (const Entry& entry : reader.entries) check_place(entry, have, file);
  check_tiling(reader.entries, have, file);
  return {std::move(reader.entries), std::move(reader.metadata), kSizeField + size};
}

std::string make_header(const std::vector<Entry>& entries,
                        const std::map<std::string, std::string>& metadata,
                        const std::string& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  for (const Entry& entry : entries) {
    header[entry.name] = {{"dtype", kTypeNames[static_cast<std::size_t>(entry.type)]},
                          {"shape", entry.shape},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string json;
  try {
    json = header.dump();
  } catch (const nlohmann::json::exception&) {
    throw InvalidArgument(file + ": a tensor's name or the metadata are not UTF-8");
  }
  json.append((8 - json.size() % 8) % 8, ' ');
  std::string bytes;
  append_little_endian(bytes, json.size(), kSizeField);
  return bytes + json;
}

}  // namespace matapprox::safetensors
