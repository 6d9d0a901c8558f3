#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// What a leaf of a block matrix stores of its block; one that stores nothing is not there.
enum class LeafKind {
  kLowRank,  ///< sum over k of s_k u_k v_k^T
  kDense,    ///< all entries
  kSparse,   ///< some entries with their places
};

template <>
struct EnumNames<LeafKind> {
  static constexpr std::array<std::string_view, 3> values{"low_rank", "dense", "sparse"};
};

struct BlockLeaf {
  Index row = 0;  ///< the first one
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  LeafKind kind = LeafKind::kLowRank;
  Index count = 0;  ///< the rank, or the entries of a sparse leaf; 0 for a dense one
  bool operator==(const BlockLeaf&) const = default;
};

/// An m x n matrix that is a sum of leaves, each a block at low rank, dense or sparse, in a few
/// bits per value. Leaves of one layer do not overlap; layers add. A symmetric matrix stores leaves
/// on and above the diagonal: one above it stands for its mirror image too, and one on it (row =
/// column, rows = columns) is symmetric itself and stores half: sum of s_k u_k u_k^T, or its upper
/// triangle.
///
/// Leaf by leaf, `bits` has one width per component (low rank) or one for the leaf, each of 1..16
/// (two's complement q, for q + offset), 32 or 64 (IEEE); `scales` one bfloat16 per component, or
/// for each 64 values of a dense or sparse leaf of at most 16 bits; `data` the values: for low rank
/// u_k and v_k, component by component, each from a whole byte on; for dense the columns without
/// gaps; for sparse the distances between places (column * rows + row, the first one from -1, less
/// 1), in base 128, the least digit first, the highest bit of a byte set where another follows, and
/// then the values. All times `unit`.
///
/// Product: each value is unpacked once, nothing but pieces of leaves at a time; multiplications
/// r (m_b + n_b), m_b n_b or the entries of each leaf. Its summation has an order of its own: the
/// same bits for any number of threads. Memory: up to 32 results of at most 64 columns, together
/// 256 MB or 4 columns of each.
class BlockMatrix {
 public:
  /// The content as a file holds it (docs/file-format.md, kind `blocks`).
  struct Content {
    Index rows = 0;
    Index cols = 0;
    bool symmetric = false;
    double unit = 1;
    double offset = 0;
    std::vector<BlockLeaf> leaves;
    std::vector<Index> layers;  ///< how many leaves each has; empty: all are one layer
    std::vector<std::uint8_t> bits;
    std::vector<std::uint16_t> scales;
    std::vector<std::uint8_t> data;
  };
  /// Throws InvalidArgument if leaves leave the matrix or overlap within a layer, lie below or
  /// across the diagonal of a symmetric one, or widths, scales and data are not those that they ask
  /// for.
  explicit BlockMatrix(Content content);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  bool symmetric() const { return content_.symmetric; }
  const Content& content() const { return content_; }  ///< its data has 16 bytes more, all 0
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// All values, and all bytes of the arrays, leaves in the narrowest integers that hold them.
  Storage storage() const;
  /// For a product with one vector.
  double multiplications() const;

  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  /// Y = A X, or A^T X if `transposed`.
  void multiply(bool transposed, const ConstBlock& X, Block Y) const;
  Matrix columns(std::span<const Index> J) const;  ///< A(:, J)
  Matrix rows_at(std::span<const Index> I) const;  ///< A(I, :)^T
  Matrix leaf_values(std::size_t leaf) const;      ///< the block that a leaf stands for
  /// Of a leaf in `bits`, `scales` and `data`; its place in `leaves` does not count.
  Index leaf_bytes(std::size_t leaf) const;
  /// |s_k u_k v_k^T|_F for each component of a low-rank leaf; none of another one.
  Vector component_norms(std::size_t leaf) const;

 private:
  /// Where the arrays of a leaf begin.
  struct LeafBegin {
    std::size_t bits = 0;
    std::size_t scales = 0;
    std::size_t data = 0;
  };
  /// Rows of a product.
  struct RowRange {
    Index first = 0;
    Index end = 0;
  };
  using RowRanges = std::vector<RowRange>;  ///< ascending, apart from each other
  void check_leaves() const;
  void find_begins();
  void divide_work();
  RowRanges written_by(std::size_t part, bool transposed) const;
  double leaf_multiplications(std::size_t leaf) const;
  void add_parts(bool flipped, const ConstBlock& X, double* memory, Index stride, Block Y) const;
  Matrix multiply_units(bool transposed, std::span<const Index> J) const;
  void add_units(bool flipped, std::span<const Index> J, Block Y) const;

  Content content_;
  std::size_t data_bytes_ = 0;
  std::vector<LeafBegin> begins_;
  std::vector<std::size_t> parts_;  ///< the first leaf of each part of the work, and the last
  std::vector<RowRanges> written_;  ///< of A X, by each part
  std::vector<RowRanges> written_transposed_;  ///< of A^T X

  friend class LeafReader;
};

}  // namespace matapprox
