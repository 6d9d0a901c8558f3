#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A permutation matrix P of order n, stored as n indices: P(i, sources[i]) = 1, so that row i of P
/// X is row sources[i] of X. Storage counts n numbers of 4 bytes (8 if n >= 2^31), independent of
/// the precision of other factors. A product moves rows and takes no multiplications.
class Permutation {
 public:
  /// Throws InvalidArgument unless `sources` contains each of 0 .. n-1 once and n >= 1.
  explicit Permutation(std::vector<Index> sources);

  const std::vector<Index>& sources() const { return sources_; }
  Index rows() const { return static_cast<Index>(sources_.size()); }
  Index cols() const { return rows(); }

  /// Return P X and P^T X for an n x b block X. Cost: n b moves, on all threads. Throw
  /// InvalidArgument if X does not have n rows.
  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  bool operator==(const Permutation&) const = default;

 private:
  std::vector<Index> sources_;
};

}  // namespace matapprox
