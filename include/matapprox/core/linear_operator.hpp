#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// What an operator holds and what using it costs.
struct Cost {
  Index stored_numbers = 0;  ///< floating-point values held (indices and seeds do not count)
  Index stored_bytes = 0;    ///< those values at their stored precision, plus indices and pointers
  double multiplications_per_apply = 0;   ///< for A x, one vector
  double multiplications_per_column = 0;  ///< to produce one column with columns_at
  /// For diagonal(), where it is cheaper than all columns; negative: as much as those.
  double multiplications_for_diagonal = -1;
};

/// What an operator knows about itself without computing; empty where it does not know.
struct KnownFacts {
  std::optional<bool> symmetric;
  std::optional<Index> nonzeros;  ///< entries that are not 0
  std::optional<double> frobenius_norm;
  /// Where the entries are symmetric to rounding only, the largest |a_ij - a_ji|; else 0. Methods
  /// for symmetric matrices may take either of both for the other.
  double averaged_asymmetry = 0;
  std::optional<double> largest_entry = {};  ///< the largest magnitude
};

/// A real m x n matrix known by what it does: the one concept of this library. Inputs, lazy
/// combinations and approximations are all operators, so everything works with everything.
///
/// To add one, implement rows, cols, cost, description, do_apply and do_apply_transpose; the rest
/// has a default. Operators are immutable: every const member may be called from several threads,
/// and its result does not depend, to the bit, on the number of threads.
class LinearOperator {
 public:
  virtual ~LinearOperator() = default;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;

  /// A X: n x b in, m x b out. Throws InvalidArgument if X does not have n rows.
  Matrix apply(const ConstBlock& X) const;
  /// A^T X: m x b in, n x b out. Throws InvalidArgument if X does not have m rows.
  Matrix apply_transpose(const ConstBlock& X) const;
  /// The same into Y of the result's shape, which X may not overlap. Throw InvalidArgument for
  /// another shape.
  void apply(const ConstBlock& X, Block Y) const;
  void apply_transpose(const ConstBlock& X, Block Y) const;

  /// The memory that products come about in, a GPU's for a placed operator: methods that multiply
  /// often keep their blocks there.
  virtual const std::shared_ptr<const MemorySpace>& memory_space() const { return host_space(); }
  /// A X and A^T X for a block that lies in memory_space(), where the result stays. Throw
  /// InvalidArgument for wrong shapes or a block that lies elsewhere.
  MultiVector apply(const ConstMultiVectorView& X) const;
  MultiVector apply_transpose(const ConstMultiVectorView& X) const;
  /// The same into Y, which lies there too. Throw InvalidArgument as these and for another shape.
  void apply(const ConstMultiVectorView& X, const MultiVectorView& Y) const;
  void apply_transpose(const ConstMultiVectorView& X, const MultiVectorView& Y) const;

  /// A(:, J), m x |J|, in the order of J; repeats allowed. Throws InvalidArgument for an index
  /// outside 0..n-1.
  Matrix columns_at(std::span<const Index> J) const;
  /// A(I, :)^T, n x |I|: the chosen rows, as columns. Throws InvalidArgument for an index outside
  /// 0..m-1.
  Matrix rows_at(std::span<const Index> I) const;
  /// The same into Y of the result's shape. Throw InvalidArgument for another shape.
  void columns_at(std::span<const Index> J, Block Y) const;
  void rows_at(std::span<const Index> I, Block Y) const;
  /// The main diagonal, min(m, n) numbers.
  virtual Vector diagonal() const;

  /// This operator without its wrappers: what a placed or a counted one was made from, itself for
  /// any other. It has the same entries; what it is asked for is not counted, and computed on the
  /// CPU.
  virtual const LinearOperator& underlying() const { return *this; }

  virtual Cost cost() const = 0;
  virtual KnownFacts known_facts() const { return {}; }
  /// A few words for tables and messages: "sparse, 2018 stored entries".
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
  /// Y = A X or A^T X in memory_space(); has to be given where that is not the host's memory.
  virtual void do_apply_in_place(bool transposed,
                                 const ConstMultiVectorView& X,
                                 const MultiVectorView& Y) const;
};

/// True if A is square and equal to its transpose to rounding: as the operator knows it, or else as
/// four random x show it, |A x - A^T x|_i <= 1e-12 max_x max(|A x|_i, |A^T x|_i) in each row i.
bool is_symmetric(const LinearOperator& A);

/// The columns first .. first+count-1, as an index list.
std::vector<Index> index_range(Index first, Index count);

}  // namespace matapprox
