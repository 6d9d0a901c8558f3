#pragma once

#include <memory>
#include <optional>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/block_basis.hpp"
#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {

/// Approximate singular values with coordinates in a Krylov space, largest first.
struct RitzTriplets {
  Vector values;       ///< r singular values
  Matrix left;         ///< coordinates of the left vectors, orthonormal columns
  Matrix right;        ///< coordinates of the right vectors, orthonormal columns
  Vector residuals;    ///< |A^T u - sigma v|; A v = sigma u holds by construction
  Vector eigenvalues;  ///< the values, with their signs where they come from eigenvalues
};

/// A growing space from which singular triplets of A are read; products are scaled by a power of
/// two so that entries near 1e+-150 do no harm. Residuals and values are in the scaled units.
class KrylovSpace {
 public:
  virtual ~KrylovSpace() = default;
  /// Extends the space by one block. False if it cannot grow: what it holds is then exact.
  virtual bool step() = 0;
  virtual Index size() const = 0;
  virtual Index numbers() const = 0;  ///< of the basis, that a checkpoint copies
  /// Whether a step was stopped between two products: the next one ends it.
  virtual bool is_amid_a_step() const { return false; }
  virtual RitzTriplets ritz() const = 0;
  /// The same from all products made so far, also with the last block: no residuals. For a run of a
  /// fixed number of passes.
  virtual RitzTriplets projected() const = 0;
  /// The values of projected() alone, in less time.
  virtual Vector projected_values() const = 0;
  /// Goes on from the first `keep` of the triplets (thick restart) [WS00].
  virtual void restart(const RitzTriplets& triplets, Index keep) = 0;
  /// Goes on from the first `keep` of the triplets, all converged, and from `fresh` new random
  /// columns in place of the block that comes next: a Krylov space of A without these triplets.
  virtual void deflate(const RitzTriplets& triplets, Index keep, Index fresh) = 0;
  /// The first `count` triplets, in units of A, with their vectors on the host.
  virtual kernels::Svd host_triplets(const RitzTriplets& triplets, Index count) const = 0;
  /// Their values and, where the operator has its blocks, their vectors.
  virtual Vector values(const RitzTriplets& triplets, Index count) const = 0;
  virtual PlacedVectors placed_vectors(const RitzTriplets& triplets, Index count) const = 0;
  /// Adds all that load() needs to go on with the same bits; also between the two products of a
  /// step that was stopped.
  virtual void save(ResumeState& state) const = 0;
  /// For a space that was made with the same options. Throws InvalidArgument for a state that
  /// contradicts itself or them.
  virtual void load(const ResumeState& state) = 0;
};

struct KrylovSpaceOptions {
  Index block = 1;
  Index capacity = 1;  ///< columns before a restart
  std::uint64_t seed = 1;
};

/// Columns first .. first + count - 1 of the random ones that spaces start from (at most as many as
/// A has columns), where A has its blocks.
MultiVector random_block(const LinearOperator& A, std::uint64_t seed, Index first, Index count);

/// For any A: block Golub-Kahan bidiagonalization with full orthogonalization of both sides; a step
/// takes one product with A and one with A^T. Singular values keep an absolute accuracy of rounding
/// times sigma_1, as from [0 A; A^T 0] and unlike from A^T A. Memory (m + n) capacity.
std::unique_ptr<KrylovSpace> golub_kahan_space(const LinearOperator& A,
                                               const KrylovSpaceOptions& options);

/// For a symmetric A: block Lanczos with full orthogonalization; a step takes one product with A.
/// The left vectors are the right ones times the signs of the eigenvalues. Memory n capacity.
std::unique_ptr<KrylovSpace> lanczos_space(const LinearOperator& A,
                                           const KrylovSpaceOptions& options);

/// No state to resume has more random columns, beyond which they are those of others, or steps.
constexpr Index kMaxRandoms = Index{1} << 40;
constexpr Index kMaxSteps = Index{1} << 50;

/// The first `count` triplets of a space of A, as what a search has found.
SvdOutcome found_triplets(const LinearOperator& A,
                          const KrylovSpace& space,
                          const RitzTriplets& triplets,
                          Index count);

/// Part of load(): the power of two by which products are scaled, 0 before the first. Throws
/// InvalidArgument for what is no such number.
double saved_scale(const ResumeState& state);

/// One step of the space, which a request to stop ends within a piece of its product. Whether the
/// space grew; nothing if it was stopped, and the space is then as it was before.
std::optional<bool> step_unless_stopped(KrylovSpace& space, const RunControl& control);

/// Whether copies of repeated singular values may be missing from what a Krylov space of `width`
/// random starting columns found. With probability one such a space holds min(width, m) copies of a
/// value that A has m times (of the part of A that the space was kept away from). So where fewer
/// than `width` of the values found lie together, all copies were found; and a copy that is missing
/// matters only if its value is above the least of those that are wanted.
///
/// `found`: the first `rank` values, descending by magnitude, eigenvalues with their signs: l and
/// -l are not copies. `known`: those that were there before this space, likewise, or empty.
/// `spread`: the relative distance up to which values count as copies.
bool may_lack_copies(
    const Vector& found, const Vector& known, Index rank, Index width, double spread);

}  // namespace matapprox
