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

/// Content of a leaf of a block matrix. A block that stores nothing has no leaf.
enum class LeafKind {
  kLowRank,  ///< sum over k of s_k u_k v_k^T
  kDense,    ///< all entries
  kSparse,   ///< some entries with their positions
};

template <>
struct EnumNames<LeafKind> {
  static constexpr std::array<std::string_view, 3> values{"low_rank", "dense", "sparse"};
};

struct BlockLeaf {
  Index row = 0;  ///< first row
  Index rows = 0;
  Index column = 0;
  Index columns = 0;
  LeafKind kind = LeafKind::kLowRank;
  Index count = 0;  ///< rank, or number of entries of a sparse leaf; 0 for a dense one
  bool operator==(const BlockLeaf&) const = default;
};

/// An m x n matrix as a sum of leaves, each a block at low rank, dense or sparse, in a few bits per
/// value. Leaves of one layer do not overlap; layers add. A symmetric matrix stores only leaves on
/// and above the diagonal: a leaf above it also represents its mirror image, and a leaf on it (row
/// = column, rows = columns) is symmetric and stores half: sum of s_k u_k u_k^T, or its upper
/// triangle.
///
/// The arrays are ordered leaf by leaf. `bits` has one width per component (low rank) or per leaf:
/// 1..16 (two's complement q, for the value q + offset), 32 or 64 (IEEE). `scales` has one bfloat16
/// per component, or per 64 values of a dense or sparse leaf of at most 16 bits. `data` has the
/// values. Low rank: u_k and v_k, component by component, each starting at a whole byte. Dense: the
/// columns without gaps. Sparse: first the distances between positions column * rows + row, each
/// less 1 and the first one counted from -1, in base 128 with the least significant digit first and
/// the highest bit of a byte set if another byte follows; then the values. All values are
/// multiplied by `unit`.
///
/// A product unpacks each value once, and only pieces of leaves at a time. It takes r (m_b + n_b),
/// m_b n_b or as many multiplications as entries for each leaf. The order of summation is fixed:
/// results are bit-identical for any number of threads. Memory: up to 32 results of at most 64
/// columns, together 256 MB or 4 columns of each.
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
    std::vector<Index> layers;  ///< number of leaves of each layer; empty: all leaves are one layer
    std::vector<std::uint8_t> bits;
    std::vector<std::uint16_t> scales;
    std::vector<std::uint8_t> data;
  };
  /// Throws InvalidArgument if leaves extend beyond the matrix, overlap within a layer, or lie
  /// below or across the diagonal of a symmetric matrix, or if widths, scales and data do not match
  /// the leaves.
  explicit BlockMatrix(Content content);

  Index rows() const { return content_.rows; }
  Index cols() const { return content_.cols; }
  bool symmetric() const { return content_.symmetric; }
  const Content& content() const { return content_; }  ///< its data has 16 extra bytes, all 0
  std::span<const std::uint8_t> data() const { return {content_.data.data(), data_bytes_}; }
  /// Number of values, and bytes of all arrays, with leaves in the narrowest integers that can hold
  /// their numbers.
  Storage storage() const;
  /// Multiplications of a product with one vector.
  double multiplications() const;

  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  /// Y = A X, or A^T X if `transposed`, without memory for a second Y.
  void multiply(bool transposed, const ConstBlock& X, Block Y) const;
  Matrix columns(std::span<const Index> J) const;  ///< A(:, J)
  Matrix rows_at(std::span<const Index> I) const;  ///< A(I, :)^T
  Matrix leaf_values(std::size_t leaf) const;      ///< the block that a leaf represents
  /// Bytes of a leaf in `bits`, `scales` and `data`, without its entry in `leaves`.
  Index leaf_bytes(std::size_t leaf) const;
  /// |s_k u_k v_k^T|_F for each component of a low-rank leaf; empty for any other leaf.
  Vector component_norms(std::size_t leaf) const;

 private:
  /// Positions at which the arrays of a leaf begin.
  struct LeafBegin {
    std::size_t bits = 0;
    std::size_t scales = 0;
    std::size_t data = 0;
  };
  /// Range of rows of a product.
  struct RowRange {
    Index first = 0;
    Index end = 0;
  };
  using RowRanges = std::vector<RowRange>;  ///< ascending and disjoint
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
  std::vector<std::size_t> parts_;  ///< first leaf of each part of the work; last: leaf count
  std::vector<RowRanges> written_;  ///< rows of A X that each part adds to
  std::vector<RowRanges> written_transposed_;  ///< rows of A^T X that each part adds to

  friend class LeafReader;
};

}  // namespace matapprox
