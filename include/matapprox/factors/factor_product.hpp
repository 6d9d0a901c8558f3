#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/block_matrix.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/factors/packed_chord.hpp"
#include "matapprox/factors/packed_matrix.hpp"
#include "matapprox/factors/packed_sparse.hpp"
#include "matapprox/factors/permutation.hpp"
#include "matapprox/factors/placed_chord.hpp"
#include "matapprox/factors/placed_matrix.hpp"
#include "matapprox/factors/random_projection.hpp"

namespace matapprox {

/// One factor's content. A Vector is a diagonal matrix.
using FactorValue = std::variant<Matrix,
                                 SparseMatrix,
                                 Vector,
                                 ChordFactors,
                                 RandomProjection,
                                 Permutation,
                                 PackedMatrix,
                                 BlockMatrix,
                                 PackedChord,
                                 PackedSparse,
                                 PlacedMatrix,
                                 PlacedChord>;

/// A named factor; a value may be shared (C and C^T), and is then stored and counted once.
struct Factor {
  std::string name;
  std::shared_ptr<const FactorValue> value;
  bool transposed = false;
};

template <class T>
Factor make_factor(std::string name, T value, bool transposed = false) {
  return {std::move(name), std::make_shared<const FactorValue>(std::move(value)), transposed};
}

Index factor_rows(const Factor& factor);
Index factor_cols(const Factor& factor);

/// F_1 F_2 ... F_p, or (Z + Z^T)/2 with Z that product if symmetrized. Applying it is a
/// right-to-left chain of block products; nothing of size m x n is formed.
class FactorProduct : public LinearOperator {
 public:
  /// Throws InvalidArgument if there is no factor, inner sizes do not match, a symmetrized product
  /// is not square, or placed factors lie in more than one memory.
  explicit FactorProduct(std::vector<Factor> factors,
                         bool symmetrized = false,
                         Precision precision = Precision::kDouble);

  const std::vector<Factor>& factors() const { return factors_; }
  bool symmetrized() const { return symmetrized_; }
  Precision precision() const { return precision_; }
  /// What all distinct values take, at the stored precision; sparse factors with 4-byte column
  /// indices (8 where cols >= 2^31) and 8-byte row pointers, permutations with one such index a
  /// row, which counts as a number.
  Storage storage() const;

  Index rows() const override;
  Index cols() const override;
  /// That of the placed factors; the host's, if there are none.
  const std::shared_ptr<const MemorySpace>& memory_space() const override;
  /// With dense factors at both ends, L M R with L: m x k and R: k' x n, min(m, n) k k'
  /// multiplications and no column is formed; else all columns.
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override;
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override;

  std::vector<Factor> factors_;
  bool symmetrized_;
  Precision precision_;
};

/// How the values are stored: "packed" if some are packed or blocks, else "double" or "float".
std::string_view storage_precision(const FactorProduct& product);

/// Bytes of a sparse matrix of that shape: values, column indices (4 bytes, 8 where cols >= 2^31)
/// and rows + 1 pointers of 8 bytes.
Index sparse_bytes(Index rows, Index cols, Index nonzeros, Precision precision);

/// Bytes of a permutation of that order: an index a row, of 4 bytes, 8 where n >= 2^31.
Index permutation_bytes(Index n);

/// The factors with placed ones copied to the host, shared values once: all their doubles. Throws
/// NotAvailable where their memory is gone.
std::vector<Factor> host_factors(std::vector<Factor> factors);

/// The factors with every value rounded to float and marked so; products are still computed in
/// double. kDouble returns them unchanged.
std::vector<Factor> round_factors(const std::vector<Factor>& factors, Precision precision);

}  // namespace matapprox
