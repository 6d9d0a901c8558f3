#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Storage of an operator and cost of its products.
struct Cost {
  Index stored_numbers = 0;  ///< floating-point values held (indices and seeds do not count)
  Index stored_bytes = 0;    ///< their bytes at the stored precision, plus indices and pointers
  double multiplications_per_apply = 0;   ///< for A x with one vector
  double multiplications_per_column = 0;  ///< for one column by columns_at
  /// For diagonal(), if that is cheaper than all columns; negative: the same as for all columns.
  double multiplications_for_diagonal = -1;
};

/// Facts about an operator that are available without computation; empty if unknown.
struct KnownFacts {
  std::optional<bool> symmetric;
  std::optional<Index> nonzeros;  ///< entries that are not 0
  std::optional<double> frobenius_norm;
  /// If A is symmetric only up to rounding, the largest |a_ij - a_ji|; else 0. Methods for
  /// symmetric matrices may use either of a_ij and a_ji in place of the other. If A is the inverse
  /// of a stored matrix, a_ij are the entries of that matrix.
  double averaged_asymmetry = 0;
  std::optional<double> largest_entry = {};  ///< the largest magnitude
};

/// A real m x n matrix, defined by its products with blocks: the central interface of this library.
/// Inputs, lazy combinations and approximations are all operators and can be combined freely.
///
/// A new operator has to implement rows, cols, cost, description, do_apply and do_apply_transpose;
/// the other members have defaults. Operators are immutable: every const member may be called from
/// several threads, and its result is bit-identical for any number of threads.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;

  /// Returns A X (m x b) for X (n x b). Throws InvalidArgument if X does not have n rows.
  Matrix apply(const ConstBlock& X) const;
  /// Returns A^T X (n x b) for X (m x b). Throws InvalidArgument if X does not have m rows.
  Matrix apply_transpose(const ConstBlock& X) const;
  /// Write the same products into Y, which must not overlap X. Throw InvalidArgument also if Y has
  /// the wrong shape.
  void apply(const ConstBlock& X, Block Y) const;
  void apply_transpose(const ConstBlock& X, Block Y) const;

  /// The memory space in which products are computed; a GPU's for a placed operator. Methods with
  /// many products keep their blocks there.
  virtual const std::shared_ptr<const MemorySpace>& memory_space() const { return host_space(); }
  /// Return A X and A^T X for a block in memory_space(); the result stays there. Throw
  /// InvalidArgument for wrong shapes or a block in another memory space.
  MultiVector apply(const ConstMultiVectorView& X) const;
  MultiVector apply_transpose(const ConstMultiVectorView& X) const;
  /// Write the same products into Y, which must be in memory_space() too. Throw InvalidArgument
  /// also if Y has the wrong shape.
  void apply(const ConstMultiVectorView& X, const MultiVectorView& Y) const;
  void apply_transpose(const ConstMultiVectorView& X, const MultiVectorView& Y) const;

  /// Returns A(:, J), m x |J|, in the order of J; repeats are allowed. Throws InvalidArgument for
  /// an index outside 0..n-1.
  Matrix columns_at(std::span<const Index> J) const;
  /// Returns A(I, :)^T, n x |I|: the chosen rows, as columns. Throws InvalidArgument for an index
  /// outside 0..m-1.
  Matrix rows_at(std::span<const Index> I) const;
  /// Write the same into Y. Throw InvalidArgument also if Y has the wrong shape.
  void columns_at(std::span<const Index> J, Block Y) const;
  void rows_at(std::span<const Index> I, Block Y) const;
  /// Returns the main diagonal, min(m, n) numbers.
  virtual Vector diagonal() const;

  /// This operator without its wrappers: the matrix that a placed or counted operator was made
  /// from; any other operator returns itself. The entries are the same. Products with it are
  /// computed on the CPU and are not counted.
  virtual const LinearOperator& underlying() const { return *this; }

  virtual Cost cost() const = 0;
  virtual KnownFacts known_facts() const { return {}; }
  /// Short description for tables and messages: "sparse, 2018 stored entries".
  virtual std::string description() const = 0;

 protected:
  LinearOperator() = default;
  LinearOperator(const LinearOperator&) = default;
  LinearOperator(LinearOperator&&) = default;
  LinearOperator& operator=(const LinearOperator&) = default;
  LinearOperator& operator=(LinearOperator&&) = default;

 private:
  /// Y = A X; shapes are already checked, Y is uninitialized.
  virtual void do_apply(const ConstBlock& X, Block Y) const = 0;
  /// Y = A^T X; shapes are already checked, Y is uninitialized.
  virtual void do_apply_transpose(const ConstBlock& X, Block Y) const = 0;
  /// Y = A(:, J); the default applies A to unit columns.
  virtual void do_columns_at(std::span<const Index> J, Block Y) const;
  /// Y = A(I, :)^T; the default applies A^T to unit columns.
  virtual void do_rows_at(std::span<const Index> I, Block Y) const;
  /// Y = A X or A^T X in memory_space(). Must be overridden unless that is the host's memory.
  virtual void do_apply_in_place(bool transposed,
                                 const ConstMultiVectorView& X,
                                 const MultiVectorView& Y) const;
};

/// True if A is square and equals its transpose up to rounding: according to known_facts(), or else
/// to a test with four random vectors x: |A x - A^T x|_i <= 1e-12 max_x max(|A x|_i, |A^T x|_i) in
/// each row i.
bool is_symmetric(const LinearOperator& A);

/// Returns the indices first .. first+count-1.
std::vector<Index> index_range(Index first, Index count);

}  // namespace matapprox
