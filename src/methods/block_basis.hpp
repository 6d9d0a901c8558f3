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
  /// Columns of length n in `space`, room for `capacity` of them (at most n are ever used). Where a
  /// block brings fewer directions than columns, the rest are random ones from (seed, stream).
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
  /// columns(), which are the basis's no more.
  MultiVector release() &&;

  /// Appends min(Y.cols(), room) orthonormal columns that span what Y adds, and returns C with
  /// Y = columns() C, up to what no longer finds room. Block Gram-Schmidt done twice, each time
  /// with a Cholesky QR, or column by column where the block is too nearly dependent for that. Y
  /// lies where the basis does. Where an exception stops it, the basis is as it was.
  Matrix append(MultiVector Y);

  /// columns() <- columns() Q for orthonormal Q (size() x r), r <= size().
  void rotate(const ConstBlock& Q);

  /// Adds the columns and how many random ones were taken to a state; load() takes them back, into
  /// a basis that was made alike, and throws InvalidArgument for what does not fit into it.
  void save(const std::string& name, ResumeState& state) const;
  void load(const std::string& name, const ResumeState& state);
  /// That save() copies; none where the columns stay where they are.
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
