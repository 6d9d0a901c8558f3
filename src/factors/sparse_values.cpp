#include "factors/sparse_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "factors/quantizer.hpp"

namespace matapprox {
namespace {

constexpr std::size_t kLargestList = std::size_t{1} << 16U;
constexpr int kWidestInteger = 16;
constexpr double kLargestInteger = 0x1p31;

/// Distinct values, ascending; empty if there are too many.
std::vector<double> different_values(std::span<const double> values) {
  std::vector<double> list(values.begin(), values.end());
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  if (list.size() > kLargestList) list.clear();
  return list;
}

int bits_for(std::size_t count) { return static_cast<int>(std::bit_width(count - 1)); }

EncodedValues as_list(std::span<const double> values, std::vector<double> list) {
  EncodedValues encoded{SparseValues::kDictionary, bits_for(list.size()), 0, std::move(list), {}};
  if (encoded.bits == 0) return encoded;
  const std::int32_t half = 1 << (encoded.bits - 1);
  std::vector<std::int32_t> q;
  for (const double value : values) {
    const auto at = std::lower_bound(encoded.dictionary.begin(), encoded.dictionary.end(), value);
    q.push_back(static_cast<std::int32_t>(at - encoded.dictionary.begin()) - half);
  }
  append_packed(q, encoded.bits, encoded.data);
  return encoded;
}

/// Number of bits for the integers; 0 if the values are not integers or are too far apart.
int integer_bits(std::span<const double> values) {
  const auto [least, largest] = std::minmax_element(values.begin(), values.end());
  const bool integral = std::all_of(values.begin(), values.end(), [](double value) {
    return value == std::nearbyint(value) && std::abs(value) < kLargestInteger;
  });
  if (!integral) return 0;
  const double range = *largest - *least;
  int bits = 1;
  while (bits <= kWidestInteger && std::ldexp(1.0, bits) <= range) ++bits;
  return bits > kWidestInteger ? 0 : bits;
}

EncodedValues as_integers(std::span<const double> values, int bits) {
  EncodedValues encoded{SparseValues::kIntegers, bits, 0, {}, {}};
  encoded.offset = *std::min_element(values.begin(), values.end()) + std::ldexp(1.0, bits - 1);
  std::vector<std::int32_t> q;
  q.reserve(values.size());
  for (const double value : values) q.push_back(static_cast<std::int32_t>(value - encoded.offset));
  append_packed(q, bits, encoded.data);
  return encoded;
}

}  // namespace

EncodedValues encode_values_exactly(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const bool floats = std::all_of(values.begin(), values.end(), [](double value) {
    return static_cast<double>(static_cast<float>(value)) == value;
  });
  EncodedValues encoded{SparseValues::kNumbers, floats ? 32 : 64, 0, {}, {}};
  double least = count * encoded.bits;
  if (values.empty()) return encoded;
  std::vector<double> list = different_values(values);
  const int of_list = list.empty() ? 64 : bits_for(list.size());
  const double list_cost = count * of_list + 64.0 * static_cast<double>(list.size());
  const int of_integer = integer_bits(values);
  if (of_integer > 0 && count * of_integer < std::min(least, list.empty() ? least : list_cost)) {
    return as_integers(values, of_integer);
  }
  if (!list.empty() && list_cost < least) return as_list(values, std::move(list));
  append_ieee(values, encoded.bits, encoded.data);
  return encoded;
}

std::size_t largest_index(std::span<const std::uint8_t> data, Index count, int bits) {
  const auto width = static_cast<unsigned>(bits);
  const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
  const std::uint64_t half = std::uint64_t{1} << (width - 1);
  std::uint64_t waiting = 0;
  unsigned held = 0;
  std::size_t at = 0;
  std::uint64_t largest = 0;
  for (Index i = 0; i < count; ++i) {
    for (; held < width; held += 8) waiting |= static_cast<std::uint64_t>(data[at++]) << held;
    largest = std::max(largest, ((waiting & mask) + half) & mask);
    waiting >>= width;
    held -= width;
  }
  return static_cast<std::size_t>(largest);
}

bool equals_transpose(const SparseMatrix& A) {
  if (A.rows() != A.cols()) return false;
  // Rows are visited in order, so the entries (i, j) of column j come in the order of row j.
  const Index* const start = A.outerIndexPtr();
  std::vector<Index> cursor(start, start + A.rows());
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index k = start[i]; k < start[i + 1]; ++k) {
      const Index j = A.innerIndexPtr()[k];
      const Index mirror = cursor[j]++;
      if (mirror >= start[j + 1] || A.innerIndexPtr()[mirror] != i ||
          A.valuePtr()[mirror] != A.valuePtr()[k]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace matapprox
