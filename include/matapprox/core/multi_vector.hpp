#pragma once

#include <cstdint>
#include <memory>

#include "matapprox/core/random.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A memory space for multivectors and the arithmetic on them: the memory of the CPU, of a GPU or
/// of several processes. Addresses refer to that memory; blocks are column-major without gaps.
/// Small matrices, whose rows or columns correspond to the columns of a block, are on the host.
/// Results are bit-identical in every run. On a GPU, all functions throw NotAvailable if it fails
/// or is full; calls from several threads are serialized.
class MemorySpace : public std::enable_shared_from_this<MemorySpace> {
 public:
  virtual ~MemorySpace() = default;
  MemorySpace(const MemorySpace&) = delete;
  MemorySpace(MemorySpace&&) = delete;
  MemorySpace& operator=(const MemorySpace&) = delete;
  MemorySpace& operator=(MemorySpace&&) = delete;

  /// True if addresses are CPU addresses.
  virtual bool on_host() const = 0;
  /// True if results as tall as a block stay in this memory space, because no single process has
  /// room for them.
  virtual bool is_distributed() const { return false; }

  /// Allocates a block of rows x cols uninitialized numbers.
  virtual double* allocate(Index rows, Index cols) const = 0;
  virtual void release(double* numbers) const noexcept = 0;
  virtual void write(const double* host, Index count, double* to) const = 0;
  virtual void read(const double* from, Index count, double* host) const = 0;
  /// Copies rows first .. first + count - 1 of an n x a block to `host` (count x a).
  virtual void read_rows(
      Index n, const double* A, Index a, Index first, Index count, double* host) const;
  /// The inverse of read_rows.
  virtual void write_rows(
      Index n, double* A, Index a, Index first, Index count, const double* host) const;
  virtual void copy(const double* from, Index count, double* to) const = 0;
  virtual void zero(double* numbers, Index count) const = 0;
  /// X(i, j) = random_normal(seed, stream, i, first_column + j) for an n x a block, to the bit.
  virtual void fill_normal(std::uint64_t seed,
                           RandomStream stream,
                           Index first_column,
                           Index n,
                           Index a,
                           double* X) const = 0;

  /// Returns A^T B for n x a and n x b blocks.
  virtual Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const = 0;
  /// Y = alpha A S + beta Y for an n x a block A and S, a x b. A and Y do not overlap; beta = 0
  /// does not read Y.
  virtual void add_product(Index n,
                           double alpha,
                           const double* A,
                           Index a,
                           const ConstBlock& S,
                           double beta,
                           double* Y) const = 0;
  /// Returns |A(:, c)| for each column of an n x a block.
  virtual Vector column_norms(Index n, const double* A, Index a) const = 0;
  /// Returns the largest |x|; not finite if any number is not.
  virtual double largest(const double* numbers, Index count) const = 0;
  virtual void scale(double* numbers, Index count, double factor) const = 0;

 protected:
  MemorySpace() = default;
};

/// The CPU's memory. Its arithmetic uses the library's kernels on all threads.
const std::shared_ptr<const MemorySpace>& host_space();

/// A view of adjacent columns of a MultiVector, which must outlive the view.
struct ConstMultiVectorView {
  const MemorySpace* space = nullptr;
  Index rows = 0;
  Index cols = 0;
  const double* data = nullptr;
};
struct MultiVectorView {
  const MemorySpace* space = nullptr;
  Index rows = 0;
  Index cols = 0;
  double* data = nullptr;
  operator ConstMultiVectorView() const { return {space, rows, cols, data}; }
};

/// A block of rows x cols numbers in a memory space. Movable, not copyable.
class MultiVector {
 public:
  MultiVector() = default;
  /// Leaves the numbers uninitialized. Throws NotAvailable if a GPU has no room.
  MultiVector(std::shared_ptr<const MemorySpace> space, Index rows, Index cols);
  /// Copies X.
  MultiVector(std::shared_ptr<const MemorySpace> space, const ConstBlock& X);
  ~MultiVector();
  MultiVector(MultiVector&& other) noexcept;
  MultiVector& operator=(MultiVector&& other) noexcept;
  MultiVector(const MultiVector&) = delete;
  MultiVector& operator=(const MultiVector&) = delete;

  const std::shared_ptr<const MemorySpace>& space() const { return space_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index size() const { return rows_ * cols_; }
  double* data() { return data_; }
  const double* data() const { return data_; }
  MultiVectorView columns() { return columns(0, cols_); }
  ConstMultiVectorView columns() const { return columns(0, cols_); }
  MultiVectorView columns(Index first, Index count);
  ConstMultiVectorView columns(Index first, Index count) const;

 private:
  std::shared_ptr<const MemorySpace> space_;
  Index rows_ = 0;
  Index cols_ = 0;
  double* data_ = nullptr;
};

// All blocks of a call must be in the same memory space.

/// Returns a copy on the host.
Matrix to_host(const ConstMultiVectorView& X);
/// Y = X
void copy(const ConstMultiVectorView& X, const MultiVectorView& Y);
/// A^T B, on the host.
Matrix transpose_product(const ConstMultiVectorView& A, const ConstMultiVectorView& B);
/// Y = alpha A S + beta Y
void add_product(double alpha,
                 const ConstMultiVectorView& A,
                 const ConstBlock& S,
                 double beta,
                 const MultiVectorView& Y);
/// A S, in the memory space of A.
MultiVector product(const ConstMultiVectorView& A, const ConstBlock& S);
/// A S, on the host.
Matrix product_to_host(const ConstMultiVectorView& A, const ConstBlock& S);
Vector column_norms(const ConstMultiVectorView& A);

/// A rows x cols block with the entries random_normal(seed, stream, i, first_column + j), generated
/// in that memory space.
MultiVector random_normal_block(std::shared_ptr<const MemorySpace> space,
                                std::uint64_t seed,
                                RandomStream stream,
                                Index rows,
                                Index cols,
                                Index first_column = 0);

/// Maps of a block in host memory.
Eigen::Map<const Matrix> on_host(const ConstMultiVectorView& X);
Eigen::Map<Matrix> on_host(const MultiVectorView& X);

}  // namespace matapprox
