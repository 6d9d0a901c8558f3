#include <algorithm>
#include <cmath>

#include "report/best_page.hpp"

namespace matapprox::report {
namespace {

/// Smaller leaves, in pixels, would consist of borders only.
constexpr Index kMinBordered = 5;

template <class T>
const T* factor_of(const FactorProduct& B) {
  for (const Factor& factor : B.factors()) {
    if (const auto* value = std::get_if<T>(factor.value.get())) return value;
  }
  return nullptr;
}

/// Rows or columns as pixels: a whole number of pixels each, or several of them in one pixel.
class PixelAxis {
 public:
  PixelAxis(Index size, Index largest, Index side)
      : zoom_(side / largest),
        largest_(largest),
        side_(side),
        pixels_(std::max<Index>(begin(size), 1)) {}
  Index begin(Index entry) const { return zoom_ > 0 ? entry * zoom_ : entry * side_ / largest_; }
  Index pixels() const { return pixels_; }

 private:
  Index zoom_;
  Index largest_;
  Index side_;
  Index pixels_;
};

struct PixelRange {
  Index first = 0;
  Index last = 0;  ///< one past the end
};

PixelRange range_on(const PixelAxis& axis, Index first, Index count) {
  const Index begin = std::min(axis.begin(first), axis.pixels() - 1);
  return {begin, std::clamp(axis.begin(first + count), begin + 1, axis.pixels())};
}

void draw(Partition& partition, const PixelRange& rows, const PixelRange& columns, double bits) {
  const Index height = rows.last - rows.first;
  const Index width = columns.last - columns.first;
  partition.bits.block(rows.first, columns.first, height, width).array() += bits;
  if (std::min(height, width) < kMinBordered) return;
  // The far sides are drawn on the first pixels of the neighbors, which share these borders.
  const Index below = std::min(rows.last, partition.bits.rows() - 1);
  const Index right = std::min(columns.last, partition.bits.cols() - 1);
  for (const Index i : {rows.first, below})
    partition.borders.row(i).segment(columns.first, right - columns.first + 1) = true;
  for (const Index j : {columns.first, right})
    partition.borders.col(j).segment(rows.first, below - rows.first + 1) = true;
}

std::vector<StoredComponent> components_of_blocks(const BlockMatrix& blocks) {
  const BlockMatrix::Content& content = blocks.content();
  std::vector<StoredComponent> components;
  std::size_t width = 0;
  for (std::size_t leaf = 0; leaf < content.leaves.size(); ++leaf) {
    const BlockLeaf& block = content.leaves[leaf];
    const bool mirrored = content.symmetric && block.row != block.column;
    const Vector norms = blocks.component_norms(leaf);
    for (const double norm : norms)
      components.push_back({mirrored ? std::sqrt(2.0) * norm : norm, content.bits[width++]});
    if (block.kind != LeafKind::kLowRank) ++width;
  }
  return components;
}

/// U V^T, or U L U^T with a diagonal L, U packed.
std::vector<StoredComponent> components_of_product(const FactorProduct& B) {
  const std::vector<Factor>& factors = B.factors();
  const auto* U = std::get_if<PackedMatrix>(factors.front().value.get());
  const auto* V = std::get_if<PackedMatrix>(factors.back().value.get());
  if (U == nullptr || V == nullptr || U->cols() != V->cols()) return {};
  const auto* L = factor_of<Vector>(B);
  if (factors.size() != (L == nullptr ? 2U : 3U)) return {};
  std::vector<StoredComponent> components;
  for (Index k = 0; k < U->cols(); ++k) {
    const Index column[] = {k};
    const double size = U->columns(column).norm() * V->columns(column).norm();
    components.push_back({L == nullptr ? size : std::abs((*L)(k)) * size,
                          U->content().bits[static_cast<std::size_t>(k)]});
  }
  return components;
}

}  // namespace

const BlockMatrix* blocks_of(const FactorProduct& B) {
  if (const auto* sum = factor_of<SumMatrix>(B)) {
    for (const Factor& term : sum->terms()) {
      if (const auto* blocks = std::get_if<BlockMatrix>(term.value.get())) return blocks;
    }
  }
  return factor_of<BlockMatrix>(B);
}

const Permutation* order_of(const FactorProduct& B) {
  return blocks_of(B) == nullptr ? nullptr : factor_of<Permutation>(B);
}

Partition partition_of(const BlockMatrix& blocks, Index side) {
  const BlockMatrix::Content& content = blocks.content();
  const Index largest = std::max(blocks.rows(), blocks.cols());
  const PixelAxis rows(blocks.rows(), largest, side);
  const PixelAxis columns(blocks.cols(), largest, side);
  Partition partition;
  partition.bits = Matrix::Zero(rows.pixels(), columns.pixels());
  partition.borders = CellMarks::Constant(rows.pixels(), columns.pixels(), false);
  for (std::size_t leaf = 0; leaf < content.leaves.size(); ++leaf) {
    const BlockLeaf& block = content.leaves[leaf];
    const auto kind = static_cast<std::size_t>(block.kind);
    const Index bytes = blocks.leaf_bytes(leaf);
    ++partition.leaves[kind];
    partition.bytes[kind] += bytes;
    const bool mirrored = content.symmetric && block.row != block.column;
    const double entries = (mirrored ? 2.0 : 1.0) * static_cast<double>(block.rows) *
                           static_cast<double>(block.columns);
    const double bits = 8 * static_cast<double>(bytes) / entries;
    draw(partition,
         range_on(rows, block.row, block.rows),
         range_on(columns, block.column, block.columns),
         bits);
    if (!mirrored) continue;
    draw(partition,
         range_on(rows, block.column, block.columns),
         range_on(columns, block.row, block.rows),
         bits);
  }
  return partition;
}

ColorScale bits_scale(const Partition& partition) {
  double largest = 0;
  double least = INFINITY;
  for (Index k = 0; k < partition.bits.size(); ++k) {
    const double bits = partition.bits.data()[k];
    if (bits <= 0) continue;
    largest = std::max(largest, bits);
    least = std::min(least, bits);
  }
  if (largest == 0) return {ColorMap::kBits, 0, 1, 0};
  return {ColorMap::kBits, 0, largest, least < 0.1 * largest ? std::max(least, largest / 300) : 0};
}

std::vector<StoredComponent> stored_components(const FactorProduct& B) {
  const BlockMatrix* blocks = blocks_of(B);
  std::vector<StoredComponent> components =
      blocks != nullptr ? components_of_blocks(*blocks) : components_of_product(B);
  std::stable_sort(components.begin(), components.end(), [](const auto& one, const auto& other) {
    return one.size > other.size;
  });
  return components;
}

Matrix ordered_cells(const LinearOperator& A, const Permutation& P, const ImagePlan& plan) {
  const std::vector<Index>& sources = P.sources();
  const Index n = A.rows();
  const Index cells = (n + plan.block - 1) / plan.block;
  Matrix image = Matrix::Zero(cells, cells);
  const bool sampled = plan.cells == Cells::kSampled;
  const bool absolute = plan.cells == Cells::kAbsoluteMeans;
  // One block of columns at a time, or its middle column.
  for (Index j = 0; j < cells; ++j) {
    const Index first = sampled ? std::min(j * plan.block + plan.block / 2, n - 1) : j * plan.block;
    const Index count = sampled ? 1 : std::min(plan.block, n - first);
    const std::span<const Index> chosen(sources.data() + first, static_cast<std::size_t>(count));
    const Matrix columns = A.columns_at(chosen);
    for (Index i = 0; i < n; ++i) {
      if (sampled && i != std::min(i / plan.block * plan.block + plan.block / 2, n - 1)) continue;
      const auto row = columns.row(sources[static_cast<std::size_t>(i)]);
      image(i / plan.block, j) += absolute ? row.cwiseAbs().sum() : row.sum();
    }
  }
  if (sampled) return image;
  for (Index j = 0; j < cells; ++j) {
    for (Index i = 0; i < cells; ++i) {
      image(i, j) /= static_cast<double>(std::min(plan.block, n - i * plan.block) *
                                         std::min(plan.block, n - j * plan.block));
    }
  }
  return image;
}

}  // namespace matapprox::report
