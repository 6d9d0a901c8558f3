#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "factors/leaf_reader.hpp"
#include "factors/quantizer.hpp"
#include "factors/sparse_values.hpp"
#include "kernels/packed_simd.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/packed.hpp"

namespace matapprox {
namespace {

constexpr Index kBlockRows = 64;
constexpr unsigned kDigit = 127;
constexpr unsigned kMore = 128;
/// Largest number of partial results that a scattering product adds up at the end.
constexpr Index kMaxScatteredParts = 8;
/// Number of entries whose values are unpacked at a time.
constexpr Index kUnpackedEntries = 64;

/// Reads a number without checks: the constructor has checked all of them.
Index next_base_128(const std::uint8_t*& at) {
  std::uint64_t number = *at & kDigit;
  for (unsigned shift = 7; (*at++ & kMore) != 0; shift += 7) {
    number |= static_cast<std::uint64_t>(*at & kDigit) << shift;
  }
  return static_cast<Index>(number);
}

/// The same for unchecked bytes. `limit`: largest legal number; negative if none is legal.
Index checked_base_128(std::span<const std::uint8_t> bytes, std::size_t& at, Index limit) {
  std::uint64_t number = 0;
  for (unsigned shift = 0;; shift += 7) {
    require(at < bytes.size() && shift <= 56,
            "packed sparse: the structure is truncated or has a number that is too long");
    const std::uint8_t byte = bytes[at++];
    number |= static_cast<std::uint64_t>(byte & kDigit) << shift;
    if ((byte & kMore) == 0) break;
  }
  require(limit >= 0 && number <= static_cast<std::uint64_t>(limit),
          "packed sparse: a column or the count of a row is outside the matrix");
  return static_cast<Index>(number);
}

}  // namespace

PackedSparse::PackedSparse(Content content) : content_(std::move(content)) {
  const auto& c = content_;
  require(c.rows >= 1 && c.cols >= 1, "packed sparse: a matrix needs at least one row and column");
  require(!c.symmetric || c.rows == c.cols, "packed sparse: symmetric, but not square");
  require(c.entries >= 0 && static_cast<double>(c.entries) <=
                                static_cast<double>(c.rows) * static_cast<double>(c.cols),
          "packed sparse: {} entries in {} x {}",
          c.entries,
          c.rows,
          c.cols);
  check_values();
  read_structure();
  data_bytes_ = c.data.size();
  content_.data.resize(data_bytes_ + kBytesBehindData);
}

void PackedSparse::check_values() {
  const auto& c = content_;
  const bool is_list = c.kind == SparseValues::kDictionary;
  const bool one_value = is_list && c.dictionary.size() == 1;
  require(c.kind == SparseValues::kNumbers
              ? c.bits == 32 || c.bits == 64
              : (c.bits >= 1 && c.bits <= 16) || (one_value && c.bits == 0),
          "packed sparse: values of {} bits",
          c.bits);
  require(is_list == !c.dictionary.empty(), "packed sparse: a dictionary is missing or unused");
  require(std::isfinite(c.unit) && std::isfinite(c.offset),
          "packed sparse: unit or offset is not finite");
  const double largest_integer = std::ldexp(0.5, c.bits) + std::abs(c.offset);
  require(c.kind != SparseValues::kIntegers || std::isfinite(c.unit * largest_integer),
          "packed sparse: integers whose values are not finite");
  require(std::all_of(
              c.dictionary.begin(), c.dictionary.end(), [](double v) { return std::isfinite(v); }),
          "packed sparse: a value is not finite");
  const double bytes = std::ceil(static_cast<double>(c.entries) * c.bits / 8);
  require(static_cast<double>(c.data.size()) == bytes,
          "packed sparse: {} bytes of values, but {} entries require {:.0f}",
          c.data.size(),
          c.entries,
          bytes);
  if (c.kind == SparseValues::kNumbers) {
    bool finite = ieee_finite(c.data.data(), c.entries, c.bits);
    const auto check = [&]<class Number>(Number number) {
      for (Index entry = 0; finite && entry < c.entries; ++entry) {
        std::memcpy(
            &number, c.data.data() + entry * static_cast<Index>(sizeof number), sizeof number);
        finite = std::isfinite(c.unit * static_cast<double>(number));
      }
    };
    if (c.unit != 1) c.bits == 32 ? check(0.0F) : check(0.0);
    require(finite, "packed sparse: a value is not finite");
  }
  if (is_list && c.bits > 0 &&
      c.dictionary.size() < std::size_t{1} << static_cast<unsigned>(c.bits)) {
    require(largest_index(c.data, c.entries, c.bits) < c.dictionary.size(),
            "packed sparse: an index is beyond the dictionary of {} values",
            c.dictionary.size());
  }
}

/// Checks every number, and records where blocks of rows begin.
void PackedSparse::read_structure() {
  const auto& c = content_;
  // Every row takes at least a byte.
  require(static_cast<double>(c.structure.size()) >= static_cast<double>(c.rows),
          "packed sparse: the structure is truncated");
  std::size_t at = 0;
  Index entries = 0;
  for (Index i = 0; i < c.rows; ++i) {
    if (i % kBlockRows == 0) blocks_.push_back({at, entries});
    const Index first = c.symmetric ? i : 0;
    const Index count = checked_base_128(c.structure, at, c.cols - first);
    Index column = first - 1;
    for (Index k = 0; k < count; ++k) {
      column += 1 + checked_base_128(c.structure, at, c.cols - 2 - column);
      nonzeros_ += c.symmetric && column != i ? 2 : 1;
    }
    entries += count;
  }
  require(at == c.structure.size() && entries == c.entries,
          "packed sparse: the structure has {} entries in {} of {} bytes, not {}",
          entries,
          at,
          c.structure.size(),
          c.entries);
}

PackedSparse PackedSparse::packed(const SparseMatrix& A) {
  SparseMatrix values = A.pruned(0.0, 0.0);
  values.makeCompressed();
  // Checked before anything is sorted, because NaN cannot be ordered.
  require(std::all_of(values.valuePtr(),
                      values.valuePtr() + values.nonZeros(),
                      [](double v) { return std::isfinite(v); }),
          "packed sparse: a value is not finite");
  Content content;
  content.rows = A.rows();
  content.cols = A.cols();
  content.symmetric = equals_transpose(values);
  std::vector<double> kept;
  for (Index i = 0; i < A.rows(); ++i) {
    if (i % kBlockRows == 0) throw_if_stop_requested();
    std::vector<Index> gaps;
    Index before = content.symmetric ? i - 1 : -1;
    for (SparseMatrix::InnerIterator at(values, i); at; ++at) {
      if (content.symmetric && at.col() < i) continue;
      gaps.push_back(at.col() - before - 1);
      before = at.col();
      kept.push_back(at.value());
    }
    append_base_128(static_cast<Index>(gaps.size()), content.structure);
    for (const Index gap : gaps) append_base_128(gap, content.structure);
  }
  content.entries = static_cast<Index>(kept.size());
  EncodedValues encoded = encode_values_exactly(kept);
  content.kind = encoded.kind;
  content.bits = encoded.bits;
  content.offset = encoded.offset;
  content.dictionary = std::move(encoded.dictionary);
  content.data = std::move(encoded.data);
  return PackedSparse(std::move(content));
}

Storage PackedSparse::storage() const {
  const Index list = 8 * static_cast<Index>(content_.dictionary.size());
  return {content_.entries, static_cast<Index>(content_.structure.size() + data_bytes_) + list};
}

std::string PackedSparse::description() const {
  const std::string triangle = content_.symmetric ? "upper triangle, " : "";
  switch (content_.kind) {
    case SparseValues::kDictionary:
      return fmt::format("{}{} different value{}",
                         triangle,
                         content_.dictionary.size(),
                         content_.dictionary.size() == 1 ? "" : "s");
    case SparseValues::kIntegers:
      return fmt::format(
          "{}integers of {} bit{}", triangle, content_.bits, content_.bits == 1 ? "" : "s");
    default:
      return fmt::format("{}{}", triangle, content_.bits == 32 ? "floats" : "doubles");
  }
}

/// Calls visit(row, column, value) for the stored entries of a range of rows, which begins at a
/// block.
template <class Visit>
void PackedSparse::for_entries(Index first_row, Index end_row, const Visit& visit) const {
  const RowBlock& block = blocks_[static_cast<std::size_t>(first_row / kBlockRows)];
  const std::uint8_t* at = content_.structure.data() + block.structure;
  const bool is_list = content_.kind == SparseValues::kDictionary;
  const kernels::simd::PackedRun run{content_.data.data(),
                                     content_.bits,
                                     is_list ? std::ldexp(0.5, content_.bits) : content_.offset};
  std::array<double, kUnpackedEntries> values{};
  Index begin = 0;
  Index end = 0;
  const auto value_of = [&](Index entry) {
    if (content_.bits == 0) return content_.dictionary.front();
    if (entry >= end || entry < begin) {
      begin = entry - entry % kAligned;
      end = std::min(begin + kUnpackedEntries, content_.entries);
      kernels::simd::packed_values(run, begin, end - begin, values.data());
    }
    const double q = values[static_cast<std::size_t>(entry - begin)];
    if (is_list) return content_.dictionary[static_cast<std::size_t>(q)];
    return content_.unit * q;
  };
  Index entry = block.entry;
  for (Index i = first_row; i < end_row; ++i) {
    Index column = content_.symmetric ? i - 1 : -1;
    for (Index left = next_base_128(at); left > 0; --left, ++entry) {
      column += 1 + next_base_128(at);
      visit(i, column, value_of(entry));
    }
  }
}

/// Computes A^T X or, for a symmetric matrix, A X. Parts of the rows have their own results, which
/// are added in order. The number of parts does not depend on the number of threads.
Matrix PackedSparse::scattered(const ConstBlock& X, bool both) const {
  const auto all = static_cast<Index>(blocks_.size());
  const Index parts =
      std::clamp<Index>(content_.entries / (2 * cols()), 1, std::min(kMaxScatteredParts, all));
  std::vector<Matrix> sums(static_cast<std::size_t>(parts));
  parallel_for(parts, [&](Index p) {
    Matrix& Y = sums[static_cast<std::size_t>(p)];
    Y = Matrix::Zero(cols(), X.cols());
    const Index first = all * p / parts * kBlockRows;
    const Index end = std::min(rows(), all * (p + 1) / parts * kBlockRows);
    for_entries(first, end, [&](Index i, Index j, double value) {
      for (Index c = 0; c < X.cols(); ++c) {
        Y(j, c) += value * X(i, c);
        if (both && i != j) Y(i, c) += value * X(j, c);
      }
    });
  });
  for (std::size_t p = 1; p < sums.size(); ++p) sums.front() += sums[p];
  return std::move(sums.front());
}

Matrix PackedSparse::apply(const ConstBlock& X) const {
  if (content_.symmetric) return scattered(X, true);
  Matrix Y = Matrix::Zero(rows(), X.cols());
  parallel_for(static_cast<Index>(blocks_.size()), [&](Index b) {
    const Index first = b * kBlockRows;
    for_entries(first, std::min(rows(), first + kBlockRows), [&](Index i, Index j, double value) {
      for (Index c = 0; c < X.cols(); ++c) Y(i, c) += value * X(j, c);
    });
  });
  return Y;
}

Matrix PackedSparse::apply_transpose(const ConstBlock& X) const {
  return scattered(X, content_.symmetric);
}

/// Builds the matrix row by row: from triplets it would take an array of the length of a row,
/// whatever length a file claims.
SparseMatrix PackedSparse::unpacked() const {
  require_memory(
      16.0 * static_cast<double>(content_.entries + nonzeros_) + 16.0 * static_cast<double>(rows()),
      "the packed sparse matrix, written out");
  SparseMatrix stored(rows(), cols());
  stored.reserve(content_.entries);
  Index started = 0;
  for_entries(0, rows(), [&](Index i, Index j, double value) {
    while (started <= i) stored.startVec(started++);
    stored.insertBack(i, j) = value;
  });
  while (started < rows()) stored.startVec(started++);
  stored.finalize();
  if (!content_.symmetric) return stored;
  SparseMatrix whole = stored.selfadjointView<Eigen::Upper>();
  return whole;
}

}  // namespace matapprox
