#pragma once

#include <memory>
#include <optional>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/block_basis.hpp"
#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {

/// Approximate singular triplets in the coordinates of a Krylov space, largest first.
struct RitzTriplets {
  Vector values;       ///< r singular values
  Matrix left;         ///< coordinates of the left vectors, orthonormal columns
  Matrix right;        ///< coordinates of the right vectors, orthonormal columns
  Vector residuals;    ///< |A^T u - sigma v|; A v = sigma u holds by construction
  Vector eigenvalues;  ///< the values, with their signs if they are eigenvalues
};

struct KrylovSpaceOptions {
  Index block = 1;
  Index capacity = 1;  ///< columns before a restart
  std::uint64_t seed = 1;
};

/// A growing Krylov space that yields singular triplets of A. Products are scaled by a power of two
/// so that entries near 1e+-150 do no harm. Residuals and values are in the scaled units.
class KrylovSpace {
 public:
  virtual ~KrylovSpace() = default;
  KrylovSpace(const KrylovSpace&) = delete;
  KrylovSpace(KrylovSpace&&) = delete;
  KrylovSpace& operator=(const KrylovSpace&) = delete;
  KrylovSpace& operator=(KrylovSpace&&) = delete;

  /// Extends the space by one block. Returns false if it cannot grow: its triplets are then exact.
  virtual bool step() = 0;
  virtual Index size() const = 0;
  virtual Index numbers() const = 0;  ///< numbers of the basis that a checkpoint copies
  /// True if a step was stopped between two products; the next step() completes it.
  virtual bool is_amid_a_step() const { return false; }
  virtual RitzTriplets ritz() const = 0;
  /// The same from all products made so far, including those with the last block; without
  /// residuals. For a run with a fixed number of passes.
  virtual RitzTriplets projected() const = 0;
  /// Values of projected() alone, in less time.
  virtual Vector projected_values() const = 0;
  /// Restarts from the first `keep` triplets (thick restart) [WS00].
  virtual void restart(const RitzTriplets& triplets, Index keep) = 0;
  /// Continues with the first `keep` triplets, all converged, and `fresh` new random columns in
  /// place of the next block: a Krylov space of A without these triplets.
  void deflate(const RitzTriplets& triplets, Index keep, Index fresh);
  /// Returns the first `count` triplets, in units of A, with their vectors on the host.
  kernels::Svd host_triplets(const RitzTriplets& triplets, Index count) const;
  /// Return their values, and their vectors in the memory space of the operator.
  Vector values(const RitzTriplets& triplets, Index count) const;
  PlacedVectors placed_vectors(const RitzTriplets& triplets, Index count) const;
  /// Adds all that load() needs to continue with the same bits, also between the two products of a
  /// stopped step.
  void save(ResumeState& state) const;
  /// Loads a state into a space made with the same options. Throws InvalidArgument for a state that
  /// contradicts itself or the options.
  void load(const ResumeState& state);

 protected:
  /// Makes a basis of right vectors with `options.block` random columns.
  KrylovSpace(const LinearOperator& A, const KrylovSpaceOptions& options);

  /// Scales a product, in all steps by the same power of two.
  void scale(MultiVector& Y);
  /// Norms of the products of coupling_ with the last rows of the coordinates; 0 without a next
  /// block.
  Vector residuals_of(const Matrix& coordinates) const;

  const LinearOperator& A_;
  BlockBasis right_;      ///< the vectors multiplied so far and the next block
  Index multiplied_ = 0;  ///< number of columns of right_ that A was multiplied by
  Matrix coupling_;       ///< coordinates, in the next block, of the products with the last vectors

 private:
  /// Basis of the left vectors.
  virtual ConstMultiVectorView left_basis() const = 0;
  /// Replaces the bases by the first `keep` triplets and the `fresh` columns not multiplied yet.
  virtual void keep_triplets(const RitzTriplets& triplets, Index keep, Index fresh) = 0;
  virtual void save_basis(ResumeState& state) const = 0;
  /// Loads what save_basis() saved; the members of this class are loaded next.
  virtual void load_basis(const ResumeState& state) = 0;
  /// True if the loaded state is one that steps can have left.
  virtual bool is_consistent() const = 0;

  void append_random(Index count);

  std::uint64_t seed_;
  Index randoms_used_ = 0;
  double scale_ = 0;  ///< 0 before the first product
};

/// Returns columns first .. first + count - 1 of the random start columns (at most as many as A has
/// columns), in the memory space of A.
MultiVector random_block(const LinearOperator& A, std::uint64_t seed, Index first, Index count);

/// Makes a space for any A: block Golub-Kahan bidiagonalization with full orthogonalization on both
/// sides. A step takes one product with A and one with A^T. Singular values have an absolute
/// accuracy of rounding times sigma_1, as from [0 A; A^T 0] and unlike from A^T A. Memory: (m + n)
/// capacity.
std::unique_ptr<KrylovSpace> golub_kahan_space(const LinearOperator& A,
                                               const KrylovSpaceOptions& options);

/// Makes a space for a symmetric A: block Lanczos with full orthogonalization. A step takes one
/// product with A. The left vectors are the right ones times the signs of the eigenvalues. Memory:
/// n capacity.
std::unique_ptr<KrylovSpace> lanczos_space(const LinearOperator& A,
                                           const KrylovSpaceOptions& options);

/// Limits on the random columns and the steps in a state to resume; later random columns are used
/// by BlockBasis.
constexpr Index kMaxRandoms = Index{1} << 40;
constexpr Index kMaxSteps = Index{1} << 50;

/// Returns the first `count` triplets of a space of A as the outcome of a search.
SvdOutcome found_triplets(const LinearOperator& A,
                          const KrylovSpace& space,
                          const RitzTriplets& triplets,
                          Index count);

/// Takes one step of the space; a stop request ends it within a piece of its product. Returns
/// whether the space grew, or nothing if the step was stopped: the space is then unchanged, or amid
/// the step (is_amid_a_step).
std::optional<bool> step_unless_stopped(KrylovSpace& space, const RunControl& control);

/// True if copies of repeated singular values may be missing from those found in a Krylov space
/// from `width` random columns. With probability one such a space holds min(width, m) copies of a
/// value that A, without the triplets deflated before, has m times. So if fewer than `width` of the
/// new values coincide, all copies were found. A missing copy matters only if its value is above
/// the least of the wanted values.
///
/// `found`: the first `rank` values, descending by magnitude; eigenvalues with their signs, because
/// l and -l are not copies. `known`: the values found before this space, likewise, or empty.
/// `spread`: relative distance up to which values count as copies.
bool may_lack_copies(
    const Vector& found, const Vector& known, Index rank, Index width, double spread);

}  // namespace matapprox
