#include "matapprox/factors/dictionary_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <tuple>
#include <utility>

#include "factors/coded_streams.hpp"
#include "factors/factor_value.hpp"
#include "factors/position_coding.hpp"
#include "factors/quantizer.hpp"
#include "factors/sparse_values.hpp"
#include "kernels/packed_simd.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

constexpr std::size_t kMaxValues = std::size_t{1} << 12U;
constexpr int kMaxBits = 16;
constexpr Index kDictionaryPanel = 64;
/// Number of entries that are unpacked at a time.
constexpr Index kPieceEntries = 1024;
/// Largest share of the packed bytes at which coded ones are stored, which take time to decode.
constexpr double kWorthCoding = 0.95;

/// Distinct values: an open hash table, since every entry of the matrix is looked up several times.
class ValueList {
 public:
  ValueList() : slots_(kSlots, -1) {}

  /// Returns false if x would be one value too many.
  bool add(double x) {
    std::int32_t& slot = slots_[slot_of(x)];
    if (slot >= 0) return true;
    if (values_.size() == kMaxValues) return false;
    slot = static_cast<std::int32_t>(values_.size());
    values_.push_back(x);
    return true;
  }
  /// Sorts the values; those that are equal, by their bits.
  void sort() {
    std::sort(values_.begin(), values_.end(), [](double a, double b) {
      return std::tuple(a, std::bit_cast<std::uint64_t>(a)) <
             std::tuple(b, std::bit_cast<std::uint64_t>(b));
    });
    std::fill(slots_.begin(), slots_.end(), -1);
    for (std::size_t k = 0; k < values_.size(); ++k)
      slots_[slot_of(values_[k])] = static_cast<std::int32_t>(k);
  }
  /// Position of a value that was added.
  std::int32_t position(double x) const { return slots_[slot_of(x)]; }
  const std::vector<double>& values() const { return values_; }

 private:
  static constexpr std::size_t kSlots = 4 * kMaxValues;

  /// The slot that holds x, or the free one for it.
  std::size_t slot_of(double x) const {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    std::size_t slot = (bits * 0x9E3779B97F4A7C15U) >> 50U;
    static_assert(kSlots == std::size_t{1} << 14U);
    while (slots_[slot] >= 0 &&
           std::bit_cast<std::uint64_t>(values_[static_cast<std::size_t>(slots_[slot])]) != bits)
      slot = (slot + 1) % kSlots;
    return slot;
  }

  std::vector<std::int32_t> slots_;
  std::vector<double> values_;
};

positions::Shape shape_of(const DictionaryMatrix::Content& content) {
  return {content.rows, content.cols, content.symmetric, static_cast<Index>(content.values.size())};
}

/// Packs positions into integers of content.bits bits, in pieces.
class Packer {
 public:
  Packer(const DictionaryMatrix::Content& content, Index entries)
      : bits_(content.bits), half_(1 << (content.bits - 1)) {
    data_.reserve(static_cast<std::size_t>(packed_bytes(entries, bits_)) + kBytesBehindData);
  }
  void add(std::int32_t position) {
    waiting_.push_back(position - half_);
    if (waiting_.size() == kPiece) flush();
  }
  std::vector<std::uint8_t> finish() {
    flush();
    return std::move(data_);
  }

 private:
  /// Pieces but the last end where a byte ends.
  static constexpr std::size_t kPiece = 1024;
  static_assert(kPiece % kAligned == 0);
  void flush() {
    append_packed(waiting_, bits_, data_);
    waiting_.clear();
  }
  int bits_;
  std::int32_t half_;
  std::vector<std::int32_t> waiting_;
  std::vector<std::uint8_t> data_;
};

std::vector<std::uint8_t> packed_positions(const Matrix& A,
                                           const ValueList& list,
                                           const DictionaryMatrix::Content& content) {
  const positions::Shape shape = shape_of(content);
  Packer packer(content, shape.entries_before(A.cols()));
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < shape.entries_of(j); ++i) packer.add(list.position(A(i, j)));
  }
  return packer.finish();
}

/// Codes the entries into content.lengths and content.data.
void code_positions(const Matrix& A, const ValueList& list, DictionaryMatrix::Content& content) {
  const positions::Shape shape = shape_of(content);
  const std::vector<positions::Stream> streams = positions::streams_of(shape);
  std::vector<std::vector<std::uint8_t>> coded(streams.size());
  parallel_for(static_cast<Index>(streams.size()), [&](Index s) {
    const positions::Stream& stream = streams[static_cast<std::size_t>(s)];
    std::vector<std::uint16_t> entries;
    entries.reserve(static_cast<std::size_t>(shape.entries_before(stream.end) -
                                             shape.entries_before(stream.first)));
    for (Index j = stream.first; j < stream.end; ++j) {
      for (Index i = 0; i < shape.entries_of(j); ++i)
        entries.push_back(static_cast<std::uint16_t>(list.position(A(i, j))));
    }
    coded[static_cast<std::size_t>(s)] = positions::encode(shape, stream, entries);
  });
  for (const std::vector<std::uint8_t>& bytes : coded) {
    content.lengths.push_back(static_cast<Index>(bytes.size()));
    content.data.insert(content.data.end(), bytes.begin(), bytes.end());
  }
}

/// Packs coded entries.
std::vector<std::uint8_t> decoded_data(const DictionaryMatrix::Content& content, Index entries) {
  require_memory(5.0 * static_cast<double>(entries), "dictionary: the decoded entries");
  const positions::Shape shape = shape_of(content);
  const std::vector<positions::Stream> streams = positions::streams_of(shape);
  const auto coded = coded_streams(content.data, content.lengths, streams.size(), "dictionary");
  std::vector<std::vector<std::uint16_t>> found(streams.size());
  parallel_for(static_cast<Index>(streams.size()), [&](Index k) {
    const auto s = static_cast<std::size_t>(k);
    found[s] = positions::decode(shape, streams[s], coded[s]);
  });
  Packer packer(content, entries);
  for (std::vector<std::uint16_t>& positions : found) {
    for (const std::uint16_t position : positions) packer.add(position);
    positions = {};
  }
  std::vector<std::uint8_t> data = packer.finish();
  data.resize(data.size() + kBytesBehindData);
  return data;
}

void check_coded(const DictionaryMatrix::Content& c, Index entries) {
  const auto bytes = static_cast<double>(c.data.size());
  require(c.bits >= 1 && c.bits == static_cast<int>(std::bit_width(c.values.size() - 1)),
          "dictionary: coded entries of {} bits for {} values",
          c.bits,
          c.values.size());
  require(static_cast<double>(entries) <= positions::kMaxEntriesPerByte * bytes,
          "dictionary: {} entries in {:.0f} coded bytes",
          entries,
          bytes);
  coded_streams(c.data, c.lengths, positions::streams_of(shape_of(c)).size(), "dictionary");
}

}  // namespace

struct DictionaryMatrix::Decoded {
  std::once_flag once;
  std::vector<std::uint8_t> data;
};

DictionaryMatrix::DictionaryMatrix(Content content, Decode decode) : content_(std::move(content)) {
  const Content& c = content_;
  constexpr Index kLargestSide = Index{1} << 28;
  require(c.rows >= 1 && c.cols >= 1 && c.rows <= kLargestSide && c.cols <= kLargestSide,
          "dictionary: {} x {} is not a valid size",
          c.rows,
          c.cols);
  require(!c.symmetric || c.rows == c.cols, "dictionary: symmetric, but not square");
  require(c.bits >= (c.values.size() == 1 ? 0 : 1) && c.bits <= kMaxBits,
          "dictionary: entries of {} bits",
          c.bits);
  require(!c.values.empty() && c.values.size() <= std::size_t{1} << static_cast<unsigned>(c.bits),
          "dictionary: {} values for entries of {} bits",
          c.values.size(),
          c.bits);
  require(std::all_of(c.values.begin(), c.values.end(), [](double x) { return std::isfinite(x); }),
          "dictionary: a value is NaN or Inf");
  data_bytes_ = c.data.size();
  if (!c.lengths.empty()) {
    check_coded(c, entries());
    decoded_ = std::make_shared<Decoded>();
    if (decode == Decode::kNow) packed();
    return;
  }
  require(static_cast<Index>(data_bytes_) == packed_bytes(entries(), c.bits),
          "dictionary: {} bytes for {} entries of {} bits",
          data_bytes_,
          entries(),
          c.bits);
  require(c.bits == 0 || largest_index(c.data, entries(), c.bits) < c.values.size(),
          "dictionary: an entry refers to a value beyond the list");
  content_.data.resize(data_bytes_ + kBytesBehindData);
}

std::optional<DictionaryMatrix> DictionaryMatrix::of(const Matrix& A) {
  ValueList list;
  for (Index j = 0; j < A.cols(); ++j) {
    for (Index i = 0; i < A.rows(); ++i) {
      if (!std::isfinite(A(i, j)) || !list.add(A(i, j))) return std::nullopt;
    }
  }
  list.sort();
  Content content;
  content.rows = A.rows();
  content.cols = A.cols();
  content.symmetric = equals_transpose(A);
  content.values = list.values();
  content.bits = static_cast<int>(std::bit_width(list.values().size() - 1));
  if (content.bits == 0) return DictionaryMatrix(std::move(content));
  Content coded = content;
  code_positions(A, list, coded);
  content.data = packed_positions(A, list, content);
  const std::size_t coded_bytes = coded.data.size() + kLengthBytes * coded.lengths.size();
  if (static_cast<double>(coded_bytes) > kWorthCoding * static_cast<double>(content.data.size()))
    return DictionaryMatrix(std::move(content));
  // The packed entries are known and need not be decoded.
  DictionaryMatrix result(std::move(coded), Decode::kOnFirstUse);
  std::call_once(result.decoded_->once, [&] {
    result.decoded_->data = std::move(content.data);
    result.decoded_->data.resize(result.decoded_->data.size() + kBytesBehindData);
  });
  return result;
}

const std::uint8_t* DictionaryMatrix::packed() const {
  if (!decoded_) return content_.data.data();
  std::call_once(decoded_->once, [&] { decoded_->data = decoded_data(content_, entries()); });
  return decoded_->data.data();
}

DictionaryMatrix DictionaryMatrix::multiplied(int exponent) const {
  DictionaryMatrix result = *this;
  for (double& value : result.content_.values) {
    value = std::ldexp(value, exponent);
    require(std::isfinite(value), "dictionary: a value is NaN or Inf");
  }
  return result;
}

Index DictionaryMatrix::entries() const {
  return content_.symmetric ? content_.cols * (content_.cols + 1) / 2
                            : content_.rows * content_.cols;
}

Index DictionaryMatrix::first_entry(Index column) const {
  return content_.symmetric ? column * (column + 1) / 2 : column * content_.rows;
}

Precision DictionaryMatrix::list_precision() const {
  for (const Precision precision : {Precision::kFloat16, Precision::kFloat}) {
    const bool holds_all =
        std::all_of(content_.values.begin(), content_.values.end(), [&](double x) {
          return std::bit_cast<std::uint64_t>(rounded_number(x, precision)) ==
                 std::bit_cast<std::uint64_t>(x);
        });
    if (holds_all) return precision;
  }
  return Precision::kDouble;
}

Storage DictionaryMatrix::storage() const {
  const auto values = static_cast<Index>(content_.values.size());
  const auto bytes = static_cast<Index>(data_bytes_ + kLengthBytes * content_.lengths.size());
  return {entries() + values, bytes + bytes_per_value(list_precision()) * values};
}

std::string DictionaryMatrix::description() const {
  return fmt::format("{}{} bit{}, {} value{}{}",
                     content_.symmetric ? "upper triangle, " : "",
                     content_.bits,
                     content_.bits == 1 ? "" : "s",
                     content_.values.size(),
                     content_.values.size() == 1 ? "" : "s",
                     decoded_ ? ", coded" : "");
}

double DictionaryMatrix::entry(Index row, Index column) const {
  if (content_.bits == 0) return content_.values.front();
  const bool mirrored = content_.symmetric && row > column;
  const Index number = first_entry(mirrored ? row : column) + (mirrored ? column : row);
  const Index first = number / kAligned * kAligned;
  std::array<double, kAligned> positions{};
  const double half = std::ldexp(1.0, content_.bits - 1);
  kernels::simd::packed_values(
      {packed(), content_.bits, half}, first, number - first + 1, positions.data());
  return content_
      .values[static_cast<std::size_t>(positions[static_cast<std::size_t>(number - first)])];
}

/// Unpacks the stored entries of a column: all, or those down to the diagonal.
void DictionaryMatrix::unpack_column(Index column, double* to) const {
  const Index count = content_.symmetric ? column + 1 : content_.rows;
  if (content_.bits == 0) {
    std::fill_n(to, count, content_.values.front());
    return;
  }
  const double half = std::ldexp(1.0, content_.bits - 1);
  const kernels::simd::PackedRun run{packed(), content_.bits, half};
  std::array<double, kPieceEntries> positions;
  const Index end = first_entry(column) + count;
  for (Index at = first_entry(column); at < end;) {
    const Index first = at / kAligned * kAligned;
    const Index last = std::min(end, first + kPieceEntries);
    kernels::simd::packed_values(run, first, last - first, positions.data());
    for (; at < last; ++at) {
      const double position = positions[static_cast<std::size_t>(at - first)];
      *to++ = content_.values[static_cast<std::size_t>(position)];
    }
  }
}

Matrix DictionaryMatrix::multiply(bool transposed, const ConstBlock& X) const {
  using kernels::Trans;
  const Index read = transposed ? rows() : cols();
  require(X.rows() == read, "dictionary: a block of {} rows where {} are needed", X.rows(), read);
  Matrix Y = Matrix::Zero(transposed ? cols() : rows(), X.cols());
  for (Index first = 0; first < cols(); first += kDictionaryPanel) {
    const Index count = std::min(kDictionaryPanel, cols() - first);
    const Index height = content_.symmetric ? first + count : rows();
    Matrix panel = Matrix::Zero(height, count);
    parallel_for(count, [&](Index k) { unpack_column(first + k, panel.col(k).data()); });
    if (content_.symmetric || !transposed) {
      kernels::gemm(
          Trans::kNo, panel, Trans::kNo, X.middleRows(first, count), Y.topRows(height), 1.0, 1.0);
    }
    // The triangle below the diagonal mirrors the one above it.
    if (content_.symmetric) panel.bottomRows(count).diagonal().setZero();
    if (content_.symmetric || transposed) {
      kernels::gemm(
          Trans::kYes, panel, Trans::kNo, X.topRows(height), Y.middleRows(first, count), 1.0, 1.0);
    }
  }
  return Y;
}

Matrix DictionaryMatrix::columns(bool transposed, std::span<const Index> J) const {
  Matrix result(transposed ? cols() : rows(), static_cast<Index>(J.size()));
  parallel_for(result.cols(), [&](Index k) {
    const Index j = J[static_cast<std::size_t>(k)];
    const bool whole = !transposed && !content_.symmetric;
    if (whole) return unpack_column(j, result.col(k).data());
    for (Index i = 0; i < result.rows(); ++i) result(i, k) = transposed ? entry(j, i) : entry(i, j);
  });
  return result;
}

}  // namespace matapprox
