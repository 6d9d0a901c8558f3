#include "methods/exact/dense_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "factors/factor_value.hpp"
#include "factors/quantizer.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::exact_store {
namespace {

/// Rows and columns of a tile, which fits into a cache.
constexpr Index kTileSide = 256;
constexpr int kWidestTileInteger = 16;
constexpr double kLargestTileInteger = 0x1p31;

/// Number of bits that hold the entries as integers; 0 if they are not integers or too far apart.
int integer_width(const Matrix& A) {
  if (!(A.array() == A.array().round()).all()) return 0;
  const double least = A.minCoeff();
  const double range = A.maxCoeff() - least;
  if (A.cwiseAbs().maxCoeff() >= kLargestTileInteger) return 0;
  int bits = 1;
  while (bits <= kWidestTileInteger && std::ldexp(1.0, bits) <= range) ++bits;
  return bits > kWidestTileInteger ? 0 : bits;
}

Index values_of(const DenseTiles& tiles, Index row, Index rows, Index column, Index columns) {
  const bool half = tiles.symmetric && row == column;
  return half ? rows * (rows + 1) / 2 : rows * columns;
}

/// Calls visit(row, rows, column, columns) for each stored tile.
template <class Visit>
void for_tiles(const DenseTiles& tiles, const Visit& visit) {
  for (Index column = 0; column < tiles.cols; column += kTileSide) {
    const Index columns = std::min(kTileSide, tiles.cols - column);
    throw_if_stop_requested();
    const Index end = tiles.symmetric ? column + 1 : tiles.rows;
    for (Index row = 0; row < end; row += kTileSide) {
      visit(row, std::min(kTileSide, tiles.rows - row), column, columns);
    }
  }
}

}  // namespace

std::vector<DenseTiles> dense_forms(const Matrix& A) {
  std::vector<DenseTiles> forms;
  DenseTiles tiles{A.rows(), A.cols(), equals_transpose(A), 64, 0};
  if (const int bits = integer_width(A); bits > 0) {
    forms.push_back(tiles);
    forms.back().bits = bits;
    forms.back().offset = A.minCoeff() + std::ldexp(1.0, bits - 1);
  }
  throw_if_stop_requested();
  const bool floats = (A.array() == A.cast<float>().cast<double>().array()).all();
  tiles.bits = floats ? 32 : 64;
  forms.push_back(tiles);
  return forms;
}

double bytes_of(const DenseTiles& tiles) {
  double bytes = 0;
  Index count = 0;
  for_tiles(tiles, [&](Index row, Index rows, Index column, Index columns) {
    const Index values = values_of(tiles, row, rows, column, columns);
    const Index scales = tiles.bits > 16 ? 0 : (values + kValuesPerScale - 1) / kValuesPerScale;
    bytes += static_cast<double>(packed_bytes(values, tiles.bits) + 2 * scales + 1);
    ++count;
  });
  const Index largest = std::max(tiles.rows, tiles.cols);
  const double index_bytes = largest < 256 ? 1 : largest < 65536 ? 2 : 4;
  return bytes + 6 * index_bytes * static_cast<double>(count);
}

std::string description_of(const DenseTiles& tiles) {
  const std::string triangle = tiles.symmetric ? ", upper triangle" : "";
  if (tiles.bits <= 16) return fmt::format("integers of {} bits{}", tiles.bits, triangle);
  return fmt::format("dense{}, {}", triangle, tiles.bits == 64 ? "doubles" : "floats");
}

BlockMatrix tiled(const Matrix& A, const DenseTiles& tiles) {
  BlockMatrix::Content content;
  content.rows = tiles.rows;
  content.cols = tiles.cols;
  content.symmetric = tiles.symmetric;
  content.offset = tiles.offset;
  std::vector<double> values;
  std::vector<std::int32_t> integers;
  for_tiles(tiles, [&](Index row, Index rows, Index column, Index columns) {
    const bool half = tiles.symmetric && row == column;
    values.clear();
    for (Index j = 0; j < columns; ++j) {
      for (Index i = 0; i < (half ? j + 1 : rows); ++i) values.push_back(A(row + i, column + j));
    }
    content.leaves.push_back({row, rows, column, columns, LeafKind::kDense, 0});
    content.bits.push_back(static_cast<std::uint8_t>(tiles.bits));
    if (tiles.bits > 16) {
      append_ieee(values, tiles.bits, content.data);
      return;
    }
    integers.clear();
    for (const double value : values) {
      integers.push_back(static_cast<std::int32_t>(value - tiles.offset));
    }
    append_packed(integers, tiles.bits, content.data);
    const std::size_t scales = (values.size() + kValuesPerScale - 1) / kValuesPerScale;
    content.scales.insert(content.scales.end(), scales, to_bfloat16(1));
  });
  return BlockMatrix(std::move(content));
}

}  // namespace matapprox::exact_store
