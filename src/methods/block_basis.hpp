#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// An orthonormal set of columns that grows by blocks: the basis of a Krylov method.
class BlockBasis {
 public:
  /// Makes an empty basis with room for min(n, capacity) columns of length n in `space`. Where a
  /// block adds fewer directions than it has columns, random directions from (seed, stream) fill
  /// the rest.
  BlockBasis(std::shared_ptr<const MemorySpace> space,
             Index n,
             Index capacity,
             std::uint64_t seed,
             RandomStream stream);

  Index size() const { return size_; }
  ConstMultiVectorView columns() const { return values_.columns(0, size_); }
  ConstMultiVectorView columns(Index first, Index count) const {
    return values_.columns(first, count);
  }
  /// Moves columns() out of the basis.
  MultiVector release() &&;

  /// Appends min(Y.cols(), room) orthonormal columns that span the part of Y outside the basis.
  /// Returns C with Y = columns() C, except for the part that exceeds the room. Y is in the memory
  /// space of the basis. Uses block Gram-Schmidt twice, each time with a Cholesky QR, or column by
  /// column where the block is too nearly dependent for that. If an exception is thrown, the basis
  /// is unchanged.
  Matrix append(MultiVector Y);

  /// Replaces columns() by columns() Q for orthonormal Q (size() x r), r <= size().
  void rotate(const ConstBlock& Q);

  /// Adds the columns and the number of random directions used to a state. load() restores them
  /// into a basis made with the same arguments and throws InvalidArgument if they do not fit.
  void save(const std::string& name, ResumeState& state) const;
  void load(const std::string& name, const ResumeState& state);
  /// Number of values that save() copies; 0 where the columns stay in their memory space.
  Index numbers_of_a_copy() const;

 private:
  Matrix append_at_once(MultiVector Y);
  Matrix orthonormalize(MultiVector& Y, Index width, const Vector& entry_norms);
  Matrix column_by_column(MultiVector& Y, Index width, const Vector& entry_norms);
  void random_direction(const ConstMultiVectorView& Q, const MultiVectorView& y);

  MultiVector values_;
  Index size_ = 0;
  std::uint64_t seed_;
  RandomStream stream_;
  Index randoms_used_ = 0;
};

}  // namespace matapprox
