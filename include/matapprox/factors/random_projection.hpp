#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// The distribution of a Johnson-Lindenstrauss matrix R (k x n) with E[R^T R] = I.
enum class ProjectionKind { kGaussian, kRademacher, kSparse, kSrht };

template <>
struct EnumNames<ProjectionKind> {
  static constexpr std::array<std::string_view, 4> values{
      "gaussian", "rademacher", "sparse", "srht"};
};

/// A k x n random matrix represented by its seed: only kind, seed and size are stored. The entries
/// are a function of (seed, i, j), defined to the bit in docs/random.md:
///   gaussian   R(i,j) = z / sqrt(k), z standard normal
///   rademacher R(i,j) = +-1 / sqrt(k)
///   sparse     R(i,j) = +-sqrt(3/k) with probability 1/6 each, else 0  [Ach03]
///   srht       R = sqrt(p/k) S H D: D random signs (n), H the orthonormal Hadamard transform of
///              order p = 2^ceil(log2 n) on the zero-padded vector, S picks k of p rows [AC09]
/// Cost of a product with one column: the entries are generated again, unless it is an srht, which
/// takes p log2 p additions.
class RandomProjection {
 public:
  /// Throws InvalidArgument unless 1 <= k and 1 <= n (srht: k <= p).
  RandomProjection(ProjectionKind kind, std::uint64_t seed, Index k, Index n);

  ProjectionKind kind() const { return kind_; }
  std::uint64_t seed() const { return seed_; }
  Index rows() const { return k_; }
  Index cols() const { return n_; }
  /// Time of a product with one vector, in multiplications of a stored matrix with one vector.
  double multiplications() const;

  Matrix apply(const ConstBlock& X) const;            ///< R X, k x b
  Matrix apply_transpose(const ConstBlock& X) const;  ///< R^T X, n x b
  /// R(:, first .. first+count-1), k x count.
  Matrix columns(Index first, Index count) const;

 private:
  ProjectionKind kind_;
  std::uint64_t seed_;
  Index k_;
  Index n_;
};

}  // namespace matapprox
