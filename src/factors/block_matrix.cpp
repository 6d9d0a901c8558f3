#include "matapprox/factors/block_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "factors/leaf_reader.hpp"
#include "factors/quantizer.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

/// Number of bytes that the kernels may read past the last value.
constexpr std::size_t kReadBehind = 16;
constexpr Index kMaxParts = 32;
/// Largest number of columns of X at a time.
constexpr Index kMaxColumns = 64;
constexpr Index kSumsPerLine = 8;

using Sums = Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

/// Number of columns at which the sums of all parts, `numbers` per column, take at most 256 MB: the
/// system clears them for every product, which costs more than unpacking again for the next
/// columns.
Index columns_at_a_time(Index numbers) {
  constexpr Index kMaxNumbers = Index{1} << 25;
  constexpr Index kMultiple = 4;
  const Index fitting = kMaxNumbers / std::max<Index>(numbers, 1);
  return std::clamp(fitting / kMultiple * kMultiple, kMultiple, kMaxColumns);
}

/// Bytes of the narrowest integer type of a file that can represent `largest`.
Index narrow_bytes(Index largest) {
  if (largest < 1 << 8) return 1;
  if (largest < 1 << 16) return 2;
  return largest < Index{1} << 31 ? 4 : 8;
}

bool overlaps(Index first, Index count, Index other_first, Index other_count) {
  return first < other_first + other_count && other_first < first + count;
}

/// Throws if two of the leaves share an entry. Sweeps over the rows, with the leaves that cross the
/// current row ordered by columns.
void require_disjoint(std::span<const BlockLeaf> leaves) {
  std::vector<const BlockLeaf*> order;
  for (const BlockLeaf& leaf : leaves) order.push_back(&leaf);
  std::sort(order.begin(), order.end(), [](const BlockLeaf* a, const BlockLeaf* b) {
    return a->row < b->row;
  });
  std::map<Index, const BlockLeaf*> crossing;
  std::multimap<Index, Index> ends;  // first row after a leaf, and the leaf's column
  for (const BlockLeaf* leaf : order) {
    while (!ends.empty() && ends.begin()->first <= leaf->row) {
      crossing.erase(ends.begin()->second);
      ends.erase(ends.begin());
    }
    const auto next = crossing.lower_bound(leaf->column);
    const auto clashes = [&](const BlockLeaf* other) {
      return overlaps(leaf->column, leaf->columns, other->column, other->columns);
    };
    require((next == crossing.end() || !clashes(next->second)) &&
                (next == crossing.begin() || !clashes(std::prev(next)->second)),
            "blocks: two leaves overlap at row {}, column {} (counted from 0)",
            leaf->row,
            leaf->column);
    crossing.emplace(leaf->column, leaf);
    ends.emplace(leaf->row + leaf->rows, leaf->column);
  }
}

Index stored_values_of(const BlockLeaf& leaf, bool on_diagonal) {
  switch (leaf.kind) {
    case LeafKind::kLowRank:
      return leaf.count * (on_diagonal ? leaf.rows : leaf.rows + leaf.columns);
    case LeafKind::kDense:
      return on_diagonal ? leaf.rows * (leaf.rows + 1) / 2 : leaf.rows * leaf.columns;
    case LeafKind::kSparse:
      return leaf.count;
  }
  return 0;
}

Index scales_of(Index values, int bits) {
  return bits > 16 ? 0 : (values + kValuesPerScale - 1) / kValuesPerScale;
}

}  // namespace

BlockMatrix::BlockMatrix(Content content) : content_(std::move(content)) {
  const auto& c = content_;
  require(c.rows >= 1 && c.cols >= 1, "blocks: a matrix needs at least one row and column");
  require(!c.symmetric || c.rows == c.cols, "blocks: a symmetric matrix is square");
  require(std::isfinite(c.unit) && std::isfinite(c.offset), "blocks: unit or offset is not finite");
  check_leaves();
  find_begins();
  content_.data.resize(data_bytes_ + kReadBehind);
  divide_work();
}

void BlockMatrix::check_leaves() const {
  for (const BlockLeaf& leaf : content_.leaves) {
    // Written so that nothing overflows.
    const bool inside = leaf.row >= 0 && leaf.column >= 0 && leaf.rows >= 1 && leaf.columns >= 1 &&
                        leaf.rows <= rows() && leaf.columns <= cols() &&
                        leaf.row <= rows() - leaf.rows && leaf.column <= cols() - leaf.columns;
    require(inside,
            "blocks: a leaf at row {}, column {} (counted from 0) of {} x {} exceeds the matrix of "
            "{} x {}",
            leaf.row,
            leaf.column,
            leaf.rows,
            leaf.columns,
            rows(),
            cols());
    require(static_cast<double>(leaf.rows) * static_cast<double>(leaf.columns) < 0x1p60,
            "blocks: a leaf of {} x {} is too large",
            leaf.rows,
            leaf.columns);
    require(leaf.count >= (leaf.kind == LeafKind::kDense ? 0 : 1) &&
                (leaf.kind == LeafKind::kLowRank ? leaf.count < Index{1} << 31
                                                 : leaf.count <= leaf.rows * leaf.columns),
            "blocks: a leaf of rank or count {}",
            leaf.count);
    const bool on_diagonal = leaf.row == leaf.column && leaf.rows == leaf.columns;
    require(!content_.symmetric || on_diagonal || leaf.row + leaf.rows <= leaf.column,
            "blocks: a leaf of a symmetric matrix lies across or below the diagonal");
  }
  const std::vector<Index>& layers = content_.layers;
  const std::span<const BlockLeaf> leaves(content_.leaves);
  if (layers.empty()) return require_disjoint(leaves);
  std::size_t first = 0;
  for (const Index size : layers) {
    require(size >= 0 && static_cast<std::size_t>(size) <= leaves.size() - first,
            "blocks: the layers have more leaves than there are");
    require_disjoint(leaves.subspan(first, static_cast<std::size_t>(size)));
    first += static_cast<std::size_t>(size);
  }
  require(first == leaves.size(), "blocks: the layers have fewer leaves than there are");
}

/// Also checks that the arrays have the sizes that the leaves require.
void BlockMatrix::find_begins() {
  LeafBegin next;
  const auto& c = content_;
  const auto take_bytes = [&](double bytes) {
    require(static_cast<double>(next.data) + bytes <= static_cast<double>(c.data.size()),
            "blocks: the data end before the leaves do");
    next.data += static_cast<std::size_t>(bytes);
  };
  const auto take_values = [&](Index count, int bits) {
    const std::size_t begin = next.data;
    take_bytes(std::ceil(static_cast<double>(count) * bits / 8));
    require(bits <= 16 || ieee_finite(c.data.data() + begin, count, bits),
            "blocks: a value is not finite");
  };
  for (const BlockLeaf& leaf : c.leaves) {
    begins_.push_back(next);
    const bool on_diagonal = c.symmetric && leaf.row == leaf.column;
    const Index widths = leaf.kind == LeafKind::kLowRank ? leaf.count : 1;
    require(static_cast<std::size_t>(widths) <= c.bits.size() - next.bits,
            "blocks: fewer widths than components");
    for (Index k = 0; k < widths; ++k) {
      const int bits = c.bits[next.bits + static_cast<std::size_t>(k)];
      require(is_value_width(bits), "blocks: values of {} bits (allowed: 1 to 16, 32, 64)", bits);
      if (leaf.kind == LeafKind::kLowRank) {
        take_values(leaf.rows, bits);
        if (!on_diagonal) take_values(leaf.columns, bits);
        continue;
      }
      if (leaf.kind == LeafKind::kSparse) {
        const std::uint8_t* position = c.data.data() + next.data;
        Index place = -1;
        for (Index e = 0; e < leaf.count; ++e) {
          const Index gap = read_base_128(position, c.data.data() + c.data.size());
          require(gap >= 0 && gap < leaf.rows * leaf.columns - 1 - place,
                  "blocks: an entry of a sparse leaf lies outside it");
          place += 1 + gap;
          require(!on_diagonal || place % leaf.rows <= place / leaf.rows,
                  "blocks: an entry of a symmetric sparse leaf lies below the diagonal");
        }
        next.data = static_cast<std::size_t>(position - c.data.data());
      }
      take_values(stored_values_of(leaf, on_diagonal), bits);
      next.scales += static_cast<std::size_t>(scales_of(stored_values_of(leaf, on_diagonal), bits));
    }
    next.bits += static_cast<std::size_t>(widths);
    if (leaf.kind == LeafKind::kLowRank) next.scales += static_cast<std::size_t>(leaf.count);
    require(next.scales <= c.scales.size(), "blocks: fewer scales than the leaves need");
  }
  data_bytes_ = next.data;
  require(
      next.bits == c.bits.size() && next.scales == c.scales.size() && next.data == c.data.size(),
      "blocks: more widths, scales or data than the leaves need");
  for (const std::uint16_t scale : c.scales) {
    require(std::isfinite(from_bfloat16(scale)), "blocks: a scale is not finite");
  }
}

double BlockMatrix::leaf_multiplications(std::size_t leaf) const {
  const BlockLeaf& block = content_.leaves[leaf];
  const bool on_diagonal = content_.symmetric && block.row == block.column;
  const auto values = static_cast<double>(stored_values_of(block, on_diagonal));
  return content_.symmetric ? 2 * values : values;
}

double BlockMatrix::multiplications() const {
  double sum = 0;
  for (std::size_t leaf = 0; leaf < begins_.size(); ++leaf) sum += leaf_multiplications(leaf);
  return sum;
}

/// Divides the leaves into parts of about equal work, each with its own result. Adding the results
/// takes less than an eighth of the work. The number of parts does not depend on the number of
/// threads.
void BlockMatrix::divide_work() {
  const double work = multiplications();
  const double of_result = 16.0 * static_cast<double>(std::max(rows(), cols()));
  const auto count = std::clamp(static_cast<Index>(work / of_result), Index{1}, kMaxParts);
  parts_.push_back(0);
  double done = 0;
  for (std::size_t leaf = 0; leaf < begins_.size(); ++leaf) {
    done += leaf_multiplications(leaf);
    const double share = work * static_cast<double>(parts_.size()) / static_cast<double>(count);
    if (done >= share && static_cast<Index>(parts_.size()) < count) parts_.push_back(leaf + 1);
  }
  parts_.push_back(begins_.size());
  for (std::size_t part = 0; part + 1 < parts_.size(); ++part) {
    written_.push_back(written_by(part, false));
    written_transposed_.push_back(written_by(part, true));
  }
}

BlockMatrix::RowRanges BlockMatrix::written_by(std::size_t part, bool transposed) const {
  RowRanges all;
  for (std::size_t l = parts_[part]; l < parts_[part + 1]; ++l) {
    const BlockLeaf& leaf = content_.leaves[l];
    const RowRange rows{leaf.row, leaf.row + leaf.rows};
    const RowRange columns{leaf.column, leaf.column + leaf.columns};
    if (content_.symmetric || !transposed) all.push_back(rows);
    if (content_.symmetric || transposed) all.push_back(columns);
  }
  std::sort(all.begin(), all.end(), [](const RowRange& a, const RowRange& b) {
    return a.first < b.first;
  });
  RowRanges merged;
  for (const RowRange& range : all) {
    if (merged.empty() || merged.back().end < range.first) {
      merged.push_back(range);
    } else {
      merged.back().end = std::max(merged.back().end, range.end);
    }
  }
  return merged;
}

Storage BlockMatrix::storage() const {
  Storage total{0,
                static_cast<Index>(data_bytes_ + content_.bits.size() + 2 * content_.scales.size() +
                                   8 * content_.layers.size())};
  Index largest = 0;
  for (const BlockLeaf& leaf : content_.leaves) {
    const bool on_diagonal = content_.symmetric && leaf.row == leaf.column;
    total.numbers += stored_values_of(leaf, on_diagonal);
    largest = std::max({largest, leaf.row, leaf.rows, leaf.column, leaf.columns, leaf.count});
  }
  total.bytes += 6 * narrow_bytes(largest) * static_cast<Index>(content_.leaves.size());
  return total;
}

void BlockMatrix::multiply(bool transposed, const ConstBlock& X, Block Y) const {
  const bool flipped = transposed && !content_.symmetric;
  const auto parts = std::ssize(parts_) - 1;
  // The sums of a part begin at a cache line, and only the rows that the part adds to are touched.
  const Index stride = (Y.rows() + kSumsPerLine - 1) / kSumsPerLine * kSumsPerLine;
  const Index width = std::min(columns_at_a_time(parts * stride), X.cols());
  thread_local kernels::Scratch<double> scratch;
  const kernels::ScratchBuffer<double> memory(scratch, parts * stride * width);
  Y.setZero();
  for (Index first = 0; first < X.cols(); first += width) {
    const Index count = std::min(width, X.cols() - first);
    add_parts(
        flipped, X.middleCols(first, count), memory.data(), stride, Y.middleCols(first, count));
  }
}

/// Y += A X, or A^T X if `flipped`. Each part sums into its own columns of `memory`, `stride`
/// numbers each, and these sums are added in order.
void BlockMatrix::add_parts(
    bool flipped, const ConstBlock& X, double* memory, Index stride, Block Y) const {
  const std::vector<RowRanges>& written = flipped ? written_transposed_ : written_;
  const auto count = static_cast<Index>(written.size());
  const auto sums_of = [&](Index p) {
    return Sums(memory + p * stride * X.cols(), Y.rows(), X.cols(), Eigen::OuterStride<>(stride));
  };
  parallel_for(count, [&](Index p) {
    Sums part = sums_of(p);
    for (const RowRange& range : written[static_cast<std::size_t>(p)]) {
      part.middleRows(range.first, range.end - range.first).setZero();
    }
    for (std::size_t l = parts_[static_cast<std::size_t>(p)];
         l < parts_[static_cast<std::size_t>(p) + 1];
         ++l) {
      const BlockLeaf& leaf = content_.leaves[l];
      const LeafReader reader(*this, l);
      const auto of_rows = [&](auto& of) { return of.middleRows(leaf.row, leaf.rows); };
      const auto of_columns = [&](auto& of) { return of.middleRows(leaf.column, leaf.columns); };
      if (content_.symmetric && leaf.row != leaf.column) {
        reader.add_products(of_columns(X), of_rows(part), of_rows(X), of_columns(part));
      } else if (flipped) {
        reader.add_product(true, of_rows(X), of_columns(part));
      } else {
        reader.add_product(false, of_columns(X), of_rows(part));
      }
    }
  });
  for (Index p = 0; p < count; ++p) {
    const Sums part = sums_of(p);
    for (const RowRange& range : written[static_cast<std::size_t>(p)]) {
      const Index number = range.end - range.first;
      Y.middleRows(range.first, number) += part.middleRows(range.first, number);
    }
  }
}

/// Columns J of the matrix or its transpose, kMaxColumns at a time, with all threads.
Matrix BlockMatrix::multiply_units(bool transposed, std::span<const Index> J) const {
  const bool flipped = transposed && !content_.symmetric;
  const auto count = static_cast<Index>(J.size());
  Matrix Y = Matrix::Zero(flipped ? cols() : rows(), count);
  parallel_for((count + kMaxColumns - 1) / kMaxColumns, [&](Index panel) {
    const Index first = panel * kMaxColumns;
    const Index width = std::min(kMaxColumns, count - first);
    const auto chosen = J.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(width));
    add_units(flipped, chosen, Y.middleCols(first, width));
  });
  return Y;
}

/// Reads only leaves that contain some of the columns.
void BlockMatrix::add_units(bool flipped, std::span<const Index> J, Block Y) const {
  for (std::size_t l = 0; l < begins_.size(); ++l) {
    const BlockLeaf& leaf = content_.leaves[l];
    const LeafReader reader(*this, l);
    const auto add = [&](bool mirrored) {
      const Index first = mirrored ? leaf.row : leaf.column;
      const Index count = mirrored ? leaf.rows : leaf.columns;
      std::vector<Index> wanted;  // positions in J
      for (std::size_t c = 0; c < J.size(); ++c) {
        if (J[c] >= first && J[c] < first + count) wanted.push_back(static_cast<Index>(c));
      }
      if (wanted.empty()) return;
      Matrix units = Matrix::Zero(count, static_cast<Index>(wanted.size()));
      for (std::size_t w = 0; w < wanted.size(); ++w) {
        units(J[static_cast<std::size_t>(wanted[w])] - first, static_cast<Index>(w)) = 1;
      }
      const Index top = mirrored ? leaf.column : leaf.row;
      const Index height = mirrored ? leaf.columns : leaf.rows;
      Matrix part = Matrix::Zero(height, units.cols());
      reader.add_product(mirrored, units, part);
      for (std::size_t w = 0; w < wanted.size(); ++w) {
        Y.col(wanted[w]).segment(top, height) += part.col(static_cast<Index>(w));
      }
    };
    add(flipped);
    if (content_.symmetric && leaf.row != leaf.column) add(!flipped);
  }
}

Matrix BlockMatrix::apply(const ConstBlock& X) const {
  Matrix Y(rows(), X.cols());
  multiply(false, X, Y);
  return Y;
}

Matrix BlockMatrix::apply_transpose(const ConstBlock& X) const {
  Matrix Y(cols(), X.cols());
  multiply(true, X, Y);
  return Y;
}

Matrix BlockMatrix::columns(std::span<const Index> J) const { return multiply_units(false, J); }
Matrix BlockMatrix::rows_at(std::span<const Index> I) const { return multiply_units(true, I); }

Matrix BlockMatrix::leaf_values(std::size_t leaf) const {
  const BlockLeaf& block = content_.leaves[leaf];
  Matrix values = Matrix::Zero(block.rows, block.columns);
  LeafReader(*this, leaf)
      .add_product(false, Matrix::Identity(block.columns, block.columns), values);
  return values;
}

Index BlockMatrix::leaf_bytes(std::size_t leaf) const {
  const bool is_last = leaf + 1 == begins_.size();
  const LeafBegin& begin = begins_[leaf];
  const LeafBegin end = is_last
                            ? LeafBegin{content_.bits.size(), content_.scales.size(), data_bytes_}
                            : begins_[leaf + 1];
  return static_cast<Index>(end.bits - begin.bits + 2 * (end.scales - begin.scales) + end.data -
                            begin.data);
}

Vector BlockMatrix::component_norms(std::size_t leaf) const {
  return content_.leaves[leaf].kind == LeafKind::kLowRank
             ? LeafReader(*this, leaf).component_norms()
             : Vector();
}

}  // namespace matapprox
