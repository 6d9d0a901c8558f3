#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A permutation matrix P of order n held as n indices: P(i, sources[i]) = 1, so that row i of P X
/// is row sources[i] of X. Storage counts n numbers of 4 bytes (8 where n >= 2^31), whatever the
/// precision of the values beside it; a product moves rows and multiplies nothing.
class Permutation {
 public:
  /// Throws InvalidArgument unless `sources` holds each of 0 .. n-1 once, n >= 1.
  explicit Permutation(std::vector<Index> sources);

  const std::vector<Index>& sources() const { return sources_; }
  Index rows() const { return static_cast<Index>(sources_.size()); }
  Index cols() const { return rows(); }

  /// P X and P^T X, n x b each, for an n x b block. Cost n b moves, on all threads. Throws
  /// InvalidArgument for a block of another height.
  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  bool operator==(const Permutation&) const = default;

 private:
  std::vector<Index> sources_;
};

}  // namespace matapprox
