#pragma once

#include "methods/hierarchical/block_source.hpp"

namespace matapprox::blocks {

/// Blocks of a matrix that is held as a whole.
class HeldMatrix final : public BlockSource {
 public:
  /// Keeps a reference to A, whose largest entry is less than 2^`top`.
  HeldMatrix(const Matrix& A, int top, bool symmetric, std::uint64_t seed)
      : A_(A), top_(top), symmetric_(symmetric), seed_(seed) {}

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  bool symmetric() const override { return symmetric_; }
  bool exhaustive() const override { return true; }
  double energy() const override { return A_.squaredNorm(); }
  void describe(Node& node, double least) const override;
  /// Cost: squares_down_to() where the smaller side is at most 128; else two products with as many
  /// vectors as it takes.
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
  std::uint64_t seed_;
};

}  // namespace matapprox::blocks
