#include "matapprox/factors/compressed_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <unordered_set>
#include <utility>

#include "factors/coded_streams.hpp"
#include "factors/factor_value.hpp"
#include "factors/xz.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

/// A stream has as few columns as have this many entries (16 MB), one at least.
constexpr Index kStreamEntries = Index{1} << 21;
/// Number of entries, about, whose values are compared to learn how many are different.
constexpr double kComparedEntries = 65536;
/// Entries that are compressed to learn what values take that do not repeat: more of a large
/// matrix, which takes long to compress in vain.
constexpr Index kMinSample = 2048;
constexpr Index kMaxSample = 8192;
constexpr Index kSampledPart = 64;
constexpr std::size_t kDoubleBytes = sizeof(double);
constexpr double kMaxStreamBytes = 2147483647;
/// Part of all entries that are different values, below which many repeat.
constexpr double kManyRepeat = 0.5;
/// Streams can stand for thousands of times their bytes. A matrix of more entries has at most so
/// many for each byte, so that a small file does not lead to a large matrix.
constexpr double kAlwaysAllowed = 0x1p25;
constexpr double kMaxEntriesPerByte = 32;

/// The stored entries of a column: all, or those down to the diagonal.
Index column_entries(const CompressedMatrix::Content& c, Index column) {
  return c.symmetric ? column + 1 : c.rows;
}

struct Stream {
  Index first = 0;  ///< column
  Index end = 0;
  Index entries = 0;
};

std::vector<Stream> streams_of(const CompressedMatrix::Content& c) {
  std::vector<Stream> streams;
  for (Index j = 0; j < c.cols; ++j) {
    if (streams.empty() || streams.back().entries >= kStreamEntries) streams.push_back({j, j, 0});
    streams.back().end = j + 1;
    streams.back().entries += column_entries(c, j);
  }
  return streams;
}

/// Byte k of double i is byte 8 i + k; if sorted by byte, count k + i.
std::vector<std::uint8_t> bytes_of(std::span<const double> values, bool by_byte) {
  const std::size_t count = values.size();
  std::vector<std::uint8_t> bytes(kDoubleBytes * count);
  if (!by_byte) {
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    for (std::size_t k = 0; k < kDoubleBytes; ++k)
      bytes[count * k + i] = static_cast<std::uint8_t>(bits >> (8 * k));
  }
  return bytes;
}

/// Double i of `count` in the bytes of a stream.
double double_at(std::span<const std::uint8_t> bytes,
                 bool by_byte,
                 std::size_t count,
                 std::size_t i) {
  double value = 0;
  if (!by_byte) {
    std::memcpy(&value, bytes.data() + kDoubleBytes * i, kDoubleBytes);
    return value;
  }
  std::uint64_t bits = 0;
  for (std::size_t k = 0; k < kDoubleBytes; ++k)
    bits |= std::uint64_t{bytes[count * k + i]} << (8 * k);
  return std::bit_cast<double>(bits);
}

bool holds_too_much(const CompressedMatrix::Content& c) {
  return static_cast<double>(c.rows) * static_cast<double>(c.cols) >
         std::max(kAlwaysAllowed, kMaxEntriesPerByte * static_cast<double>(c.data.size()));
}

/// The stored entries of columns `first` and on, in order, until there are `most` or no more.
std::vector<double> stored_entries(const Matrix& A,
                                   const CompressedMatrix::Content& c,
                                   Index first,
                                   Index most) {
  std::vector<double> values;
  for (Index j = first; j < c.cols && static_cast<Index>(values.size()) < most; ++j) {
    const Index count = std::min(column_entries(c, j), most - static_cast<Index>(values.size()));
    values.insert(values.end(), A.col(j).data(), A.col(j).data() + count);
  }
  return values;
}

/// Estimated number of different values among all entries: those are compared whose hash is among
/// the least, so that all entries of a compared value are.
double different_values(std::span<const double> values) {
  const double part = std::min(kComparedEntries / static_cast<double>(values.size()), 1.0);
  const auto limit = static_cast<std::uint64_t>(std::ldexp(part, 32));
  std::unordered_set<std::uint64_t> found;
  std::uint64_t last = 0;
  for (const double x : values) {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t hash = bits * 0x9E3779B97F4A7C15U;
    if (hash >> 32U >= limit || (bits == last && !found.empty())) continue;
    found.insert(bits);
    last = bits;
  }
  return std::max(static_cast<double>(found.size()) / part, 1.0);
}

/// Decides the order of the bytes by a sample from the middle; false if it does not look as if the
/// entries fit: if each different value takes as much as in the sample, and repetitions nothing.
bool looks_possible(const Matrix& A, CompressedMatrix::Content& c, double most_bytes) {
  const double values = different_values({A.data(), static_cast<std::size_t>(A.size())});
  // A value takes a byte at least.
  if (values > most_bytes) return false;
  const std::vector<double> sample =
      stored_entries(A, c, c.cols / 2, std::clamp(A.size() / kSampledPart, kMinSample, kMaxSample));
  double least = std::numeric_limits<double>::infinity();
  for (const bool by_byte : {false, true}) {
    // A value that repeats is best found as a whole, perhaps further away than in the sample.
    if (by_byte && values < kManyRepeat * static_cast<double>(A.size())) break;
    const std::vector<std::uint8_t> bytes = bytes_of(sample, by_byte);
    const auto stream = xz::compressed(bytes, !by_byte, 2 * bytes.size() + 1024);
    if (!stream || static_cast<double>(stream->size()) >= least) continue;
    least = static_cast<double>(stream->size());
    c.by_byte = by_byte;
  }
  return values * least / different_values(sample) <= most_bytes;
}

}  // namespace

struct CompressedMatrix::Decompressed {
  std::once_flag once;
  Matrix entries;
};

CompressedMatrix::CompressedMatrix(Content content, Decode decode)
    : content_(std::move(content)), decompressed_(std::make_shared<Decompressed>()) {
  const Content& c = content_;
  constexpr Index kLargestSide = Index{1} << 28;
  require(c.rows >= 1 && c.cols >= 1 && c.rows <= kLargestSide && c.cols <= kLargestSide,
          "compressed: {} x {} is not a valid size",
          c.rows,
          c.cols);
  require(!c.symmetric || c.rows == c.cols, "compressed: symmetric, but not square");
  require(
      !holds_too_much(c), "compressed: {} x {} entries in {} bytes", c.rows, c.cols, c.data.size());
  coded_streams(c.data, c.lengths, streams_of(c).size(), "compressed");
  if (decode == Decode::kNow) entries();
}

std::optional<CompressedMatrix> CompressedMatrix::of(const Matrix& A, double most_bytes) {
  if (!xz::is_available() || A.size() == 0) return std::nullopt;
  Content content;
  content.rows = A.rows();
  content.cols = A.cols();
  content.symmetric = equals_transpose(A);
  if (!looks_possible(A, content, most_bytes)) return std::nullopt;
  const std::vector<Stream> streams = streams_of(content);
  most_bytes -= static_cast<double>(kLengthBytes * streams.size());
  if (most_bytes < 0) return std::nullopt;
  const auto most = static_cast<std::size_t>(std::min(most_bytes, kMaxStreamBytes));
  std::vector<std::optional<std::vector<std::uint8_t>>> parts(streams.size());
  parallel_for(static_cast<Index>(streams.size()), [&](Index k) {
    const auto s = static_cast<std::size_t>(k);
    const std::vector<double> values =
        stored_entries(A, content, streams[s].first, streams[s].entries);
    parts[s] = xz::compressed(bytes_of(values, content.by_byte), !content.by_byte, most);
  });
  for (const auto& part : parts) {
    if (!part) return std::nullopt;
    content.lengths.push_back(static_cast<Index>(part->size()));
    content.data.insert(content.data.end(), part->begin(), part->end());
  }
  if (static_cast<double>(content.data.size()) > most_bytes || holds_too_much(content))
    return std::nullopt;
  return CompressedMatrix(std::move(content), Decode::kOnFirstUse);
}

const Matrix& CompressedMatrix::entries() const {
  std::call_once(decompressed_->once, [&] {
    const Content& c = content_;
    const double numbers = static_cast<double>(c.rows) * static_cast<double>(c.cols);
    require_memory(2 * 8 * numbers, "compressed: the matrix");
    const std::vector<Stream> streams = streams_of(c);
    const auto coded = coded_streams(c.data, c.lengths, streams.size(), "compressed");
    Matrix A(c.rows, c.cols);
    parallel_for(static_cast<Index>(streams.size()), [&](Index k) {
      const auto s = static_cast<std::size_t>(k);
      const auto count = static_cast<std::size_t>(streams[s].entries);
      std::vector<std::uint8_t> bytes(kDoubleBytes * count);
      xz::decompress(coded[s], bytes);
      std::size_t at = 0;
      for (Index j = streams[s].first; j < streams[s].end; ++j) {
        for (Index i = 0; i < column_entries(c, j); ++i) {
          const double value = double_at(bytes, c.by_byte, count, at++);
          require(std::isfinite(value), "compressed: entry ({}, {}) is NaN or Inf", i, j);
          A(i, j) = value;
        }
      }
    });
    if (c.symmetric) A.triangularView<Eigen::StrictlyLower>() = A.transpose();
    decompressed_->entries = std::move(A);
  });
  return decompressed_->entries;
}

Storage CompressedMatrix::storage() const {
  const Index numbers =
      content_.symmetric ? rows() * (rows() + 1) / 2 : content_.rows * content_.cols;
  return {numbers,
          static_cast<Index>(content_.data.size() + kLengthBytes * content_.lengths.size())};
}

std::string CompressedMatrix::description() const {
  return fmt::format("compressed doubles{}", content_.symmetric ? ", upper triangle" : "");
}

Matrix CompressedMatrix::multiply(bool transposed, const ConstBlock& X) const {
  using kernels::Trans;
  const Index read = transposed ? rows() : cols();
  require(X.rows() == read, "compressed: a block of {} rows where {} are needed", X.rows(), read);
  Matrix Y(transposed ? cols() : rows(), X.cols());
  kernels::gemm(transposed ? Trans::kYes : Trans::kNo, entries(), Trans::kNo, X, Y);
  return Y;
}

Matrix CompressedMatrix::columns(bool transposed, std::span<const Index> J) const {
  const Matrix& A = entries();
  Matrix result(transposed ? cols() : rows(), static_cast<Index>(J.size()));
  for (Index c = 0; c < result.cols(); ++c) {
    const Index j = J[static_cast<std::size_t>(c)];
    if (transposed) {
      result.col(c) = A.row(j).transpose();
    } else {
      result.col(c) = A.col(j);
    }
  }
  return result;
}

}  // namespace matapprox
