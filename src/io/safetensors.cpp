#include "matapprox/io/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "io/byte_stream.hpp"
#include "io/safetensors_header.hpp"
#include "io/text_input.hpp"
#include "io/text_output.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

static_assert(std::endian::native == std::endian::little,
              "numbers are copied between file and memory as they are");

/// IEEE binary16: 1 sign, 5 exponent (bias 15), 10 fraction bits; every value is a float.
float from_half(std::uint16_t bits) {
  constexpr int kFractionBits = 10;
  const int exponent = bits >> kFractionBits & 0x1F;
  const int fraction = bits & 0x3FF;
  float size = 0;
  if (exponent == 0x1F) {
    size = fraction == 0 ? std::numeric_limits<float>::infinity()
                         : std::numeric_limits<float>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(static_cast<float>(fraction), -24);
  } else {
    size = std::ldexp(static_cast<float>(fraction + 0x400), exponent - 25);
  }
  return std::copysign(size, (bits & 0x8000) != 0 ? -1.0F : 1.0F);
}

/// bfloat16 is the upper half of a float.
float from_brain_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Returns the numbers of type Stored in `bytes`, each converted to a Value by `convert`.
template <class Stored, class Value, class Convert>
std::vector<Value> converted(std::string_view bytes, const Convert& convert) {
  std::vector<Value> values(bytes.size() / sizeof(Stored));
  const char* p = bytes.data();
  for (Value& value : values) {
    Stored stored{};
    std::memcpy(&stored, p, sizeof(Stored));
    value = convert(stored);
    p += sizeof(Stored);
  }
  return values;
}

template <class Stored, class Value = Stored>
std::vector<Value> widened(std::string_view bytes) {
  return converted<Stored, Value>(bytes, [](Stored x) { return static_cast<Value>(x); });
}

NamedTensor read_tensor(const safetensors::Entry& entry, std::string_view data) {
  const std::string_view bytes = data.substr(entry.begin, entry.end - entry.begin);
  NamedTensor tensor{entry.name, entry.shape, {}};
  switch (entry.type) {
    case safetensors::Type::kF64:
      tensor.values = widened<double>(bytes);
      break;
    case safetensors::Type::kI64:
      tensor.values = widened<std::int64_t>(bytes);
      break;
    case safetensors::Type::kF32:
      tensor.values = widened<float>(bytes);
      break;
    case safetensors::Type::kI32:
      tensor.values = widened<std::int32_t, std::int64_t>(bytes);
      break;
    case safetensors::Type::kF16:
      tensor.values = converted<std::uint16_t, float>(bytes, from_half);
      break;
    case safetensors::Type::kBf16:
      tensor.values = converted<std::uint16_t, float>(bytes, from_brain_float);
      break;
    case safetensors::Type::kU8:
      tensor.values = widened<std::uint8_t, std::int64_t>(bytes);
      break;
  }
  return tensor;
}

/// Number of bytes of the values in memory.
double bytes_when_read(const safetensors::Entry& entry) {
  const auto bytes = static_cast<double>(entry.end - entry.begin);
  switch (entry.type) {
    case safetensors::Type::kU8:
      return 8 * bytes;
    case safetensors::Type::kI32:
    case safetensors::Type::kF16:
    case safetensors::Type::kBf16:
      return 2 * bytes;
    default:
      return bytes;
  }
}

std::string_view tensor_bytes(const NamedTensor& tensor) {
  return std::visit(
      [](const auto& values) {
        return std::string_view(reinterpret_cast<const char*>(values.data()),
                                values.size() * sizeof(values[0]));
      },
      tensor.values);
}

void check_tensor(const std::string& path,
                  const NamedTensor& tensor,
                  std::set<std::string>& names) {
  require(!tensor.name.empty(), "{}: a tensor has no name", path);
  require(tensor.name != "__metadata__", "{}: a tensor cannot be named '__metadata__'", path);
  require(names.insert(tensor.name).second, "{}: two tensors are named '{}'", path, tensor.name);
  const auto count = static_cast<Index>(
      std::visit([](const auto& values) { return values.size(); }, tensor.values));
  Index wanted = 1;
  bool fits = true;
  for (const Index extent : tensor.shape) {
    fits = fits && extent >= 0 && !__builtin_mul_overflow(wanted, extent, &wanted);
  }
  require(fits && wanted == count,
          "{}: tensor '{}' has {} values, but its shape is [{}]",
          path,
          tensor.name,
          count,
          fmt::join(tensor.shape, ", "));
}

}  // namespace

TensorFile parse_safetensors(std::string_view bytes, const std::string& name) {
  safetensors::Header header = safetensors::parse_header(bytes, name);
  double wanted = 0;
  for (const safetensors::Entry& entry : header.entries) wanted += bytes_when_read(entry);
  require_memory(wanted, name);
  TensorFile file;
  file.metadata = std::move(header.metadata);
  file.tensors.reserve(header.entries.size());
  for (const safetensors::Entry& entry : header.entries) {
    file.tensors.push_back(read_tensor(entry, bytes.substr(header.data)));
  }
  return file;
}

TensorFile read_safetensors(const std::string& path) {
  const InputBytes bytes = read_all(path);
  return parse_safetensors(bytes, display_name(path));
}

void write_safetensors(const std::string& path,
                       std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
  constexpr std::array<safetensors::Type, 3> kTypes{
      safetensors::Type::kF32, safetensors::Type::kF64, safetensors::Type::kI64};  // variant order
  std::set<std::string> names;
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) {
    check_tensor(path, tensor, names);
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(), [](const NamedTensor* a, const NamedTensor* b) {
    return a->values.index() != 0 && b->values.index() == 0;
  });
  std::vector<safetensors::Entry> entries;
  std::uint64_t position = 0;
  for (const NamedTensor* const tensor : order) {
    const std::uint64_t end = position + tensor_bytes(*tensor).size();
    entries.push_back({tensor->name, kTypes[tensor->values.index()], tensor->shape, position, end});
    position = end;
  }
  const std::string header = safetensors::make_header(entries, metadata, path);
  TextOutput out(path);
  out.write(header);
  for (const NamedTensor* const tensor : order) out.write(tensor_bytes(*tensor));
  out.finish();
}

}  // namespace matapprox
