#pragma once

#include <mutex>

#include "methods/hierarchical/block_source.hpp"

namespace matapprox::blocks {

/// The Gaussian matrix whose leading rows and columns are the random vectors of every block. Its
/// first columns are stored, because generating them takes longer than multiplying by them.
class Sketch {
 public:
  /// `rows`: largest number of columns of a block.
  Sketch(Index rows, std::uint64_t seed) : rows_(rows), seed_(seed) {}
  /// Leading rows of some columns: a view of the stored ones, or of `space`.
  ConstBlock columns(Index rows, Index first, Index count, Matrix& space) const;

 private:
  static constexpr Index kHeldColumns = 64;

  Index rows_;
  std::uint64_t seed_;
  mutable std::once_flag filled_;
  mutable Matrix held_;
};

/// Blocks of a matrix that is stored as a whole.
class HeldMatrix final : public BlockSource {
 public:
  /// Keeps a reference to A, whose largest entry is less than 2^`top`.
  HeldMatrix(const Matrix& A, int top, bool symmetric, std::uint64_t seed)
      : A_(A), top_(top), symmetric_(symmetric), sketch_(A.cols(), seed) {}

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  bool symmetric() const override { return symmetric_; }
  bool exhaustive() const override { return true; }
  double energy() const override { return A_.squaredNorm(); }
  void describe(Node& node, double least) const override;
  /// Cost: that of squares_down_to() if the smaller side is at most 128; else two products with as
  /// many vectors as are needed.
  void find_spectrum(Node& node, Index count, double least, const Judge& judge) const override;
  void refine_spectrum(Node& node, double least) const override;
  bool gives_triplets(const Node& /*node*/) const override { return false; }
  Triplets triplets(const Node& node) const override;
  ConstBlock block(const Node& node, Matrix& space) const override;

 private:
  bool is_hopeless(Node& node, const ConstBlock& B, const Judge& judge) const;

  const Matrix& A_;
  int top_;
  bool symmetric_;
  Sketch sketch_;
};

}  // namespace matapprox::blocks
