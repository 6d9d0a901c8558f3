#include "factors/leaf_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "factors/quantizer.hpp"
#include "kernels/packed_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

using kernels::simd::PackedRun;

/// Number of columns of X from which on pieces of leaves are unpacked once for all of them.
constexpr Index kUnpackLeafFrom = 4;
/// Number of components, and of values, that are unpacked at a time.
constexpr Index kUnpackedComponents = 64;
constexpr Index kUnpackedValues = 8192;
/// Rows of X and Y that are moved for each entry of a sparse leaf, at most.
constexpr Index kMovesPerEntry = 4;

}  // namespace

Index read_base_128(const std::uint8_t*& position, const std::uint8_t* end) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; position != end && shift < 63; shift += 7) {
    const std::uint8_t byte = *position++;
    number |= std::uint64_t{byte & 0x7FU} << shift;
    if ((byte & 0x80U) == 0) return static_cast<Index>(number);
  }
  return -1;
}

void append_base_128(Index number, std::vector<std::uint8_t>& data) {
  auto rest = static_cast<std::uint64_t>(number);
  for (; rest >= 0x80U; rest >>= 7U) data.push_back(static_cast<std::uint8_t>(rest | 0x80U));
  data.push_back(static_cast<std::uint8_t>(rest));
}

LeafReader::LeafReader(const BlockMatrix& matrix, std::size_t leaf)
    : leaf_(matrix.content().leaves[leaf]),
      on_diagonal_(matrix.symmetric() && leaf_.row == leaf_.column),
      unit_(matrix.content().unit),
      offset_(matrix.content().offset),
      bits_(matrix.content().bits.data() + matrix.begins_[leaf].bits),
      scales_(matrix.content().scales.data() + matrix.begins_[leaf].scales),
      data_(matrix.content().data.data() + matrix.begins_[leaf].data) {}

double LeafReader::scale(Index k) const {
  return unit_ * static_cast<double>(from_bfloat16(scales_[k]));
}

LeafReader::Component LeafReader::next_component(Index k, const std::uint8_t*& position) const {
  Component component{position, position, bits_[k], scale(k)};
  position += packed_bytes(leaf_.rows, component.bits);
  if (!on_diagonal_) {
    component.v = position;
    position += packed_bytes(leaf_.columns, component.bits);
  }
  return component;
}

/// Unpacks values first .. first + count - 1 of a dense or sparse leaf; `first` is a multiple of 8.
void LeafReader::values(const std::uint8_t* data, Index first, Index count, double* values) const {
  const PackedRun run{data, bits_[0], offset_};
  if (run.bits > 16) return kernels::simd::packed_values(run, first, count, values, unit_);
  static_assert(kernels::simd::PackedScales::kGroup == kValuesPerScale);
  kernels::simd::packed_scaled_values(run, first, count, {unit_, scales_}, values);
}

bool LeafReader::has_integer_components() const {
  return leaf_.kind == LeafKind::kLowRank &&
         std::all_of(bits_, bits_ + leaf_.count, [](int bits) { return bits <= 16; });
}

kernels::simd::LowRankBlock LeafReader::low_rank_block() const {
  return {
      leaf_.rows, leaf_.columns, leaf_.count, on_diagonal_, unit_, offset_, bits_, scales_, data_};
}

void LeafReader::add_low_rank(bool transposed, const ConstBlock& X, Block Y) const {
  if (has_integer_components()) {
    const auto add =
        transposed ? kernels::simd::low_rank_transpose_product : kernels::simd::low_rank_product;
    for (Index c = 0; c < X.cols(); ++c) add(low_rank_block(), X.col(c).data(), Y.col(c).data());
    return;
  }
  const std::uint8_t* position = data_;
  for (Index k = 0; k < leaf_.count; ++k) {
    const Component part = next_component(k, position);
    const PackedRun read{transposed ? part.u : part.v, part.bits, offset_};
    const PackedRun written{transposed ? part.v : part.u, part.bits, offset_};
    for (Index c = 0; c < X.cols(); ++c) {
      const double sum = kernels::simd::packed_dot(read, 0, X.rows(), X.col(c).data());
      kernels::simd::packed_axpy(written, 0, Y.rows(), part.scale * sum, Y.col(c).data());
    }
  }
}

void LeafReader::add_low_rank_panels(bool transposed, const ConstBlock& X, const Block& Y) const {
  const std::uint8_t* position = data_;
  for (Index first = 0; first < leaf_.count; first += kUnpackedComponents) {
    const Index count = std::min(kUnpackedComponents, leaf_.count - first);
    Matrix read(X.rows(), count);
    Matrix written(Y.rows(), count);
    for (Index k = 0; k < count; ++k) {
      const Component part = next_component(first + k, position);
      const std::uint8_t* sources[2] = {transposed ? part.u : part.v, transposed ? part.v : part.u};
      kernels::simd::packed_values(
          {sources[0], part.bits, offset_}, 0, X.rows(), read.col(k).data());
      kernels::simd::packed_values(
          {sources[1], part.bits, offset_}, 0, Y.rows(), written.col(k).data());
      written.col(k) *= part.scale;
    }
    const auto no = kernels::Trans::kNo;
    kernels::gemm(no, written, no, kernels::transpose_product(read, X), Y, 1, 1);
  }
}

Vector LeafReader::component_norms() const {
  Vector norms(leaf_.count);
  Vector values(std::max(leaf_.rows, leaf_.columns));
  const std::uint8_t* position = data_;
  for (Index k = 0; k < leaf_.count; ++k) {
    const Component part = next_component(k, position);
    kernels::simd::packed_values({part.u, part.bits, offset_}, 0, leaf_.rows, values.data());
    const double left = values.head(leaf_.rows).norm();
    double right = left;
    if (!on_diagonal_) {
      kernels::simd::packed_values({part.v, part.bits, offset_}, 0, leaf_.columns, values.data());
      right = values.head(leaf_.columns).norm();
    }
    norms(k) = std::abs(part.scale) * left * right;
  }
  return norms;
}

/// Uses panels of a multiple of 8 columns, so that the first value of each begins at a byte.
void LeafReader::add_dense(bool transposed, const ConstBlock& X, Block Y) const {
  const Index width = std::max<Index>(1, kUnpackedValues / leaf_.rows / 8) * 8;
  Matrix panel(leaf_.rows, std::min(width, leaf_.columns));
  for (Index first = 0; first < leaf_.columns; first += width) {
    const Index count = std::min(width, leaf_.columns - first);
    values(data_, first * leaf_.rows, count * leaf_.rows, panel.data());
    const auto part = panel.leftCols(count);
    if (transposed) {
      Y.middleRows(first, count).noalias() += part.transpose() * X;
    } else {
      Y.noalias() += part * X.middleRows(first, count);
    }
  }
}

/// The stored upper triangle represents the whole symmetric block.
void LeafReader::add_triangle(const ConstBlock& X, Block Y) const {
  thread_local kernels::Scratch<double> buffer;
  for (Index first = 0; first < leaf_.columns;) {
    const Index begin = first * (first + 1) / 2;
    Index end = first + 1;
    while (end < leaf_.columns && (end + 1) * (end + 2) / 2 - begin <= kUnpackedValues) ++end;
    const Index aligned = begin / 8 * 8;
    const Index count = end * (end + 1) / 2 - aligned;
    double* unpacked = buffer.reserve(count);
    values(data_, aligned, count, unpacked);
    for (Index c = 0; c < X.cols(); ++c) {
      kernels::simd::triangle_product(
          unpacked + begin - aligned, first, end, X.col(c).data(), Y.col(c).data());
    }
    first = end;
  }
}

void LeafReader::add_sparse(bool transposed, const ConstBlock& X, Block Y) const {
  std::vector<Index> places(static_cast<std::size_t>(leaf_.count));
  const std::uint8_t* position = data_;
  Index place = -1;
  for (Index& next : places) {
    // The constructor of the matrix has checked that no number is truncated.
    place += 1 + read_base_128(position, position + 9);
    next = place;
  }
  std::vector<double> entries(places.size());
  values(position, 0, leaf_.count, entries.data());
  const auto for_entries = [&](const auto& add) {
    for (std::size_t e = 0; e < places.size(); ++e) {
      Index row = places[e] % leaf_.rows;
      Index column = places[e] / leaf_.rows;
      if (transposed) std::swap(row, column);
      add(row, column, entries[e]);
      if (on_diagonal_ && row != column) add(column, row, entries[e]);
    }
  };
  // The rows of many columns are far apart in memory. Transposed, they are next to each other.
  if (X.cols() > 1 && kMovesPerEntry * leaf_.count > X.rows() + Y.rows()) {
    const Matrix x = X.transpose();
    Matrix y = Y.transpose();
    for_entries(
        [&](Index row, Index column, double entry) { y.col(row) += entry * x.col(column); });
    Y = y.transpose();
    return;
  }
  for_entries([&](Index row, Index column, double entry) {
    for (Index c = 0; c < X.cols(); ++c) Y(row, c) += entry * X(column, c);
  });
}

void LeafReader::add_product(bool transposed, const ConstBlock& X, const Block& Y) const {
  switch (leaf_.kind) {
    case LeafKind::kLowRank:
      return X.cols() < kUnpackLeafFrom ? add_low_rank(transposed, X, Y)
                                        : add_low_rank_panels(transposed, X, Y);
    case LeafKind::kDense:
      return on_diagonal_ ? add_triangle(X, Y) : add_dense(transposed, X, Y);
    case LeafKind::kSparse:
      return add_sparse(transposed, X, Y);
  }
}

void LeafReader::add_products(const ConstBlock& X,
                              const Block& Y,
                              const ConstBlock& mirrored_X,
                              const Block& mirrored_Y) const {
  if (X.cols() >= kUnpackLeafFrom || !has_integer_components()) {
    add_product(false, X, Y);
    return add_product(true, mirrored_X, mirrored_Y);
  }
  Block into = Y;
  Block mirrored_into = mirrored_Y;
  for (Index c = 0; c < X.cols(); ++c) {
    kernels::simd::low_rank_products(low_rank_block(),
                                     X.col(c).data(),
                                     into.col(c).data(),
                                     mirrored_X.col(c).data(),
                                     mirrored_into.col(c).data());
  }
}

}  // namespace matapprox
