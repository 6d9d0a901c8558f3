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
#include "matapprox/factors/circulant.hpp"
#include "matapprox/factors/compressed_matrix.hpp"
#include "matapprox/factors/dictionary_matrix.hpp"
#include "matapprox/factors/kronecker_sparse.hpp"
#include "matapprox/factors/kronecker_sum.hpp"
#include "matapprox/factors/packed.hpp"
#include "matapprox/factors/permutation.hpp"
#include "matapprox/factors/placed_matrix.hpp"
#include "matapprox/factors/random_projection.hpp"
#include "matapprox/factors/sum_matrix.hpp"
#include "matapprox/factors/toeplitz.hpp"
#include "matapprox/factors/transform_matrix.hpp"
#include "matapprox/factors/wavelet_matrix.hpp"

namespace matapprox {

/// Content of a factor; docs/adding-a-factor.md lists the places of a new kind. A Vector is a
/// diagonal matrix.
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
                                 Circulant,
                                 ToeplitzMatrix,
                                 DictionaryMatrix,
                                 CompressedMatrix,
                                 KroneckerSum,
                                 KroneckerSparse,
                                 WaveletMatrix,
                                 TransformMatrix,
                                 SumMatrix,
                                 PlacedMatrix,
                                 PlacedChord>;

/// A named factor. A value may be shared (C and C^T) and is then stored and counted once.
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
/// Returns a short description of the content: "dense", "chord chain of 10", "circulant".
std::string factor_kind(const Factor& factor);

/// The product F_1 F_2 ... F_p, or (Z + Z^T)/2 with Z that product if symmetrized. It is applied as
/// a right-to-left chain of block products; no m x n array is formed.
class FactorProduct : public LinearOperator {
 public:
  /// Throws InvalidArgument if there is no factor, inner sizes do not match, a symmetrized product
  /// is not square, or placed factors are in more than one memory space.
  explicit FactorProduct(std::vector<Factor> factors,
                         bool symmetrized = false,
                         Precision precision = Precision::kDouble);

  const std::vector<Factor>& factors() const { return factors_; }
  bool symmetrized() const { return symmetrized_; }
  Precision precision() const { return precision_; }
  /// Storage of all distinct values at the stored precision. Sparse factors have 4-byte column
  /// indices (8 if cols >= 2^31) and 8-byte row pointers; permutations have one such index per row,
  /// which counts as a number.
  Storage storage() const;

  Index rows() const override;
  Index cols() const override;
  /// The memory space of the placed factors; the host's if there are none.
  const std::shared_ptr<const MemorySpace>& memory_space() const override;
  /// A product L M R with dense L (m x k) and R (k' x n) takes min(m, n) k k' multiplications and
  /// forms no column; any other product computes all columns.
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

/// Precision of the stored values: "packed" if a factor is packed or a BlockMatrix, else the name
/// of product.precision().
std::string_view storage_precision(const FactorProduct& product);

/// Bytes of a sparse matrix of that shape: values, column indices (4 bytes, 8 if cols >= 2^31) and
/// rows + 1 pointers of 8 bytes.
Index sparse_bytes(Index rows, Index cols, Index nonzeros, Precision precision);

/// Bytes of a permutation of order n: one index per row, 4 bytes each, 8 if n >= 2^31.
Index permutation_bytes(Index n);

/// Returns the factors with placed ones copied to the host as doubles, shared values once. Throws
/// NotAvailable if their memory space no longer exists.
std::vector<Factor> host_factors(std::vector<Factor> factors);

/// Returns the factors with every value rounded to `precision`; products are still computed in
/// double. kDouble and kPacked return them unchanged. Throws NumericalError if values are outside
/// the range of `precision`.
std::vector<Factor> round_factors(const std::vector<Factor>& factors, Precision precision);

}  // namespace matapprox
