#include "io/packed_values.hpp"

#include <fmt/format.h>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

using hdf5::Location;

constexpr Index kLargestExtent = Index{1} << 48;
constexpr Index kLeafColumns = 6;

/// Both are 1 and 0 in most files, and left out then.
void write_unit_and_offset(const Location& group, double unit, double offset) {
  if (unit != 1) hdf5::put_number(group, "unit", unit);
  if (offset != 0) hdf5::put_number(group, "offset", offset);
}

double number_or(const Location& group, const std::string& name, double otherwise) {
  return hdf5::has_attribute(group, name) ? hdf5::get_number(group, name) : otherwise;
}

[[noreturn]] void fail_blocks(const Location& group, const std::string& what) {
  throw FileError(fmt::format("{}: {}: the file is damaged", group.file, what));
}

std::vector<BlockLeaf> read_leaves(const Location& group) {
  const std::vector<Index> extents = hdf5::extents_of(group, "leaves");
  if (extents.size() != 2 || extents[1] != kLeafColumns) {
    fail_blocks(group, "a table of leaves without six columns");
  }
  require_memory(static_cast<double>(extents[0]) * sizeof(BlockLeaf), group.file + ": the leaves");
  std::vector<BlockLeaf> leaves;
  hdf5::read_integer_rows(group, "leaves", extents, [&](Index, Index count, const double* rows) {
    for (const double* row = rows; row != rows + count * kLeafColumns; row += kLeafColumns) {
      for (Index c = 0; c < kLeafColumns; ++c) {
        if (!(row[c] >= 0 && row[c] <= static_cast<double>(kLargestExtent))) {
          fail_blocks(group, "a leaf with a wrong size");
        }
      }
      const auto kind = static_cast<std::size_t>(row[4]);
      if (kind >= EnumNames<LeafKind>::values.size()) {
        fail_blocks(group, fmt::format("a leaf of the unknown kind {}", kind));
      }
      leaves.push_back({static_cast<Index>(row[0]),
                        static_cast<Index>(row[1]),
                        static_cast<Index>(row[2]),
                        static_cast<Index>(row[3]),
                        static_cast<LeafKind>(kind),
                        static_cast<Index>(row[5])});
    }
  });
  return leaves;
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
  content.rows = hdf5::get_integer(group, "rows", 1, kLargestExtent);
  content.cols = hdf5::get_integer(group, "cols", 1, kLargestExtent);
  content.group = hdf5::get_integer(group, "group", 1, kLargestExtent);
  content.unit = number_or(group, "unit", 1);
  content.offset = number_or(group, "offset", 0);
  content.bits = hdf5::read_array<std::uint8_t>(group, "bits");
  content.scales = hdf5::read_array<float>(group, "scales");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  return PackedMatrix(std::move(content));
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
  content.rows = hdf5::get_integer(group, "rows", 1, kLargestExtent);
  content.cols = hdf5::get_integer(group, "cols", 1, kLargestExtent);
  content.symmetric = hdf5::get_integer(group, "symmetric", 0, 1) == 1;
  content.unit = number_or(group, "unit", 1);
  content.offset = number_or(group, "offset", 0);
  content.leaves = read_leaves(group);
  if (hdf5::has_link(group, "layers")) content.layers = hdf5::read_integers(group, "layers");
  content.bits = hdf5::read_array<std::uint8_t>(group, "bits");
  content.scales = hdf5::read_array<std::uint16_t>(group, "scales");
  content.data = hdf5::read_array<std::uint8_t>(group, "data");
  return BlockMatrix(std::move(content));
}

}  // namespace matapprox
