#include "io/packed_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "factors/quantizer.hpp"
#include "io/saved_schema.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

using hdf5::Location;
using schema::fail;
using schema::kLargest;

constexpr Index kLeafColumns = 6;

/// Writes the unit unless it is 1, and the offset unless it is 0.
void write_unit_and_offset(const Location& group, double unit, double offset) {
  if (unit != 1) hdf5::put_number(group, "unit", unit);
  if (offset != 0) hdf5::put_number(group, "offset", offset);
}

double number_or(const Location& group, const std::string& name, double otherwise) {
  return hdf5::has_attribute(group, name) ? hdf5::get_number(group, name) : otherwise;
}

std::vector<BlockLeaf> read_leaves(const Location& group) {
  const std::vector<Index> table = hdf5::read_table(group, "leaves", kLeafColumns);
  std::vector<BlockLeaf> leaves;
  leaves.reserve(table.size() / kLeafColumns);
  for (auto row = table.begin(); row != table.end(); row += kLeafColumns) {
    if (!std::all_of(
            row, row + kLeafColumns, [](Index entry) { return entry >= 0 && entry <= kLargest; })) {
      fail(group, "a leaf with a wrong size");
    }
    if (row[4] >= static_cast<Index>(EnumNames<LeafKind>::values.size())) {
      fail(group, fmt::format("a leaf of the unknown kind {}", row[4]));
    }
    leaves.push_back({row[0], row[1], row[2], row[3], static_cast<LeafKind>(row[4]), row[5]});
  }
  return leaves;
}

/// Assumed bound of the values in a run of `bits` bits. Nothing is known of values in 64 bits; the
/// square of their bound stays in range.
double largest_value(int bits, double offset) {
  if (bits <= 16) return 32768 + std::abs(offset);
  return bits == 32 ? std::numeric_limits<float>::max() : 1e150;
}

double largest_value(std::span<const std::uint8_t> bits, double offset) {
  double largest = 0;
  for (const std::uint8_t width : bits) largest = std::max(largest, largest_value(width, offset));
  return largest;
}

/// Throws if an entry is not finite: finite scales and values may have an infinite product. If the
/// product of their bounds is infinite, computes and checks all entries.
void require_finite_entries(const Location& group, const PackedMatrix& matrix) {
  const PackedMatrix::Content& content = matrix.content();
  double scale = std::abs(content.unit);
  double largest = 0;
  for (const float s : content.scales) largest = std::max(largest, std::abs(double{s}));
  scale *= std::max(1.0, largest);
  if (std::isfinite(scale * largest_value(content.bits, content.offset))) return;
  for (Index j = 0; j < content.cols; ++j) {
    if (!matrix.columns({&j, 1}).allFinite())
      fail(group, fmt::format("column {} leaves the range of doubles", j + 1));
  }
}

void require_finite_entries(const Location& group, const BlockMatrix& matrix) {
  const BlockMatrix::Content& content = matrix.content();
  double scale = 1;
  for (const std::uint16_t s : content.scales)
    scale = std::max(scale, std::abs(double{from_bfloat16(s)}));
  const double value = largest_value(content.bits, content.offset);
  // An entry of a block of low rank is a sum of products of two values.
  if (std::isfinite(std::abs(content.unit) * scale * value * value * 1e6)) return;
  for (std::size_t leaf = 0; leaf < content.leaves.size(); ++leaf) {
    const BlockLeaf& block = content.leaves[leaf];
    require_memory(8.0 * static_cast<double>(block.rows) * static_cast<double>(block.columns),
                   group.file + ": a block");
    if (!matrix.leaf_values(leaf).allFinite())
      fail(group, fmt::format("block {} leaves the range of doubles", leaf + 1));
  }
}

}  // namespace

void write_packed(const Location& group, const PackedMatrix& matrix) {
  const PackedMatrix::Content& content = matrix.content();
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "group", content.group);
  write_unit_and_offset(group, content.unit, content.offset);
  hdf5::write_array(group, "bits", std::span<const std::uint8_t>(content.bits));
  hdf5::write_array(group, "scales", std::span<const float>(content.scales));
  hdf5::write_array(group, "data", matrix.data());
}

PackedMatrix read_packed(const Location& group) {
  PackedMatrix::Content content;
  content.rows = hdf5::get_integer(group, "rows", 1, kLargest);
  content.cols = hdf5::get_integer(group, "cols", 1, kLargest);
  content.group = hdf5::get_integer(group, "group", 1, kLargest);
  content.unit = number_or(group, "unit", 1);
  content.offset = number_or(group, "offset", 0);
  content.bits = hdf5::read_array<std::uint8_t>(group, "bits");
  content.scales = hdf5::read_array<float>(group, "scales");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  PackedMatrix matrix(std::move(content));
  require_finite_entries(group, matrix);
  return matrix;
}

void write_blocks(const Location& group, const BlockMatrix& matrix) {
  const BlockMatrix::Content& content = matrix.content();
  std::vector<Index> table;
  for (const BlockLeaf& leaf : content.leaves) {
    table.insert(table.end(),
                 {leaf.row,
                  leaf.rows,
                  leaf.column,
                  leaf.columns,
                  static_cast<Index>(leaf.kind),
                  leaf.count});
  }
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "symmetric", content.symmetric ? 1 : 0);
  write_unit_and_offset(group, content.unit, content.offset);
  hdf5::write_table(group, "leaves", table, kLeafColumns);
  if (!content.layers.empty()) hdf5::write_integers(group, "layers", content.layers);
  hdf5::write_array(group, "bits", std::span<const std::uint8_t>(content.bits));
  hdf5::write_array(group, "scales", std::span<const std::uint16_t>(content.scales));
  hdf5::write_array(group, "data", matrix.data());
}

BlockMatrix read_blocks(const Location& group) {
  BlockMatrix::Content content;
  content.rows = hdf5::get_integer(group, "rows", 1, kLargest);
  content.cols = hdf5::get_integer(group, "cols", 1, kLargest);
  content.symmetric = hdf5::get_integer(group, "symmetric", 0, 1) == 1;
  content.unit = number_or(group, "unit", 1);
  content.offset = number_or(group, "offset", 0);
  content.leaves = read_leaves(group);
  if (hdf5::has_link(group, "layers")) content.layers = hdf5::read_integers(group, "layers");
  content.bits = hdf5::read_array<std::uint8_t>(group, "bits");
  content.scales = hdf5::read_array<std::uint16_t>(group, "scales");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  BlockMatrix matrix(std::move(content));
  require_finite_entries(group, matrix);
  return matrix;
}

void write_packed_sparse(const Location& group, const PackedSparse& matrix) {
  const PackedSparse::Content& content = matrix.content();
  hdf5::put_integer(group, "rows", content.rows);
  hdf5::put_integer(group, "cols", content.cols);
  hdf5::put_integer(group, "entries", content.entries);
  hdf5::put_integer(group, "symmetric", content.symmetric ? 1 : 0);
  hdf5::put_text(group, "values", std::string(enum_name(content.kind)));
  hdf5::put_integer(group, "bits", content.bits);
  write_unit_and_offset(group, content.unit, content.offset);
  if (!content.dictionary.empty()) {
    hdf5::write_values(group, "dictionary", content.dictionary, Precision::kDouble);
  }
  hdf5::write_array(group, "structure", std::span<const std::uint8_t>(content.structure));
  hdf5::write_array(group, "data", matrix.data());
}

PackedSparse read_packed_sparse(const Location& group) {
  PackedSparse::Content content;
  content.rows = hdf5::get_integer(group, "rows", 1, kLargest);
  content.cols = hdf5::get_integer(group, "cols", 1, kLargest);
  content.entries = hdf5::get_integer(group, "entries", 0, kLargest);
  content.symmetric = hdf5::get_integer(group, "symmetric", 0, 1) == 1;
  content.kind = schema::choice<SparseValues>(group, "values", "kind of values");
  content.bits = static_cast<int>(hdf5::get_integer(group, "bits", 0, 64));
  content.unit = number_or(group, "unit", 1);
  content.offset = number_or(group, "offset", 0);
  if (hdf5::has_link(group, "dictionary")) {
    content.dictionary = hdf5::read_values(group, "dictionary");
  }
  content.structure = hdf5::read_array<std::uint8_t>(group, "structure");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  return PackedSparse(std::move(content));
}

}  // namespace matapprox
