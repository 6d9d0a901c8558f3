#pragma once

#include "kernels/packed_simd.hpp"
#include "matapprox/factors/block_matrix.hpp"

namespace matapprox {

/// Computes products with one leaf of a block matrix.
class LeafReader {
 public:
  LeafReader(const BlockMatrix& matrix, std::size_t leaf);

  /// Y += B X, or B^T X if `transposed`, with B the block that the leaf represents.
  void add_product(bool transposed, const ConstBlock& X, const Block& Y) const;
  /// Y += B X and mirrored_Y += B^T mirrored_X.
  void add_products(const ConstBlock& X,
                    const Block& Y,
                    const ConstBlock& mirrored_X,
                    const Block& mirrored_Y) const;
  /// Norms of the components of a low-rank leaf.
  Vector component_norms() const;

 private:
  /// Component k of a low-rank leaf: its bytes, its width and its scale.
  struct Component {
    const std::uint8_t* u = nullptr;
    const std::uint8_t* v = nullptr;  ///< u itself if the leaf is symmetric
    int bits = 0;
    double scale = 0;
  };

  bool has_integer_components() const;
  kernels::simd::LowRankBlock low_rank_block() const;
  Component next_component(Index k, const std::uint8_t*& position) const;
  void values(const std::uint8_t* data, Index first, Index count, double* values) const;
  void add_low_rank(bool transposed, const ConstBlock& X, Block Y) const;
  void add_low_rank_panels(bool transposed, const ConstBlock& X, const Block& Y) const;
  void add_dense(bool transposed, const ConstBlock& X, Block Y) const;
  void add_triangle(const ConstBlock& X, Block Y) const;
  void add_sparse(bool transposed, const ConstBlock& X, Block Y) const;
  double scale(Index k) const;

  const BlockLeaf& leaf_;
  bool on_diagonal_;  ///< on the diagonal of a symmetric matrix
  double unit_;
  double offset_;
  const std::uint8_t* bits_;
  const std::uint16_t* scales_;
  const std::uint8_t* data_;
};

/// Reads the next number in base 128 and advances past it. Returns -1, without reading at or past
/// `end`, if the number is truncated or has more than 63 bits.
Index read_base_128(const std::uint8_t*& position, const std::uint8_t* end);
void append_base_128(Index number, std::vector<std::uint8_t>& data);

}  // namespace matapprox
