#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox {

/// A chain of Chord factors: the pattern and one contiguous block of values, factor after factor.
/// Factor m is an N x links(m) row-major array whose entry (i, k) is W_m[i, (i + offsets[m][k]) mod
/// N]. The same block is the optimizer's parameter vector, the kernels' operand and the dataset on
/// disk.
struct ChordFactors {
  ChordPattern pattern;
  std::vector<double> values;  ///< pattern.stored_numbers()
};

/// Y = W_1 ... W_M X, or Y = W_M^T ... W_1^T X, for a chain of Chord factors; X and Y are N x b,
/// column-major, and may not overlap. [KYCY22, Sec. 3]
///
/// `values` are the pattern.stored_numbers() entries in the layout of ChordFactors. Cost: 2 b flops
/// per stored number. Up to two columns are multiplied as vectors, more in row-major panels of a
/// few cache lines per row, two N x 64 bytes x 4 at a time per thread. Runs on all threads. Results
/// are bit-identical for any number of threads, for any number of other columns, and on every CPU
/// with fused multiply-add. Throws InvalidArgument unless the pattern is valid, the number of
/// values matches it, and X and Y have N rows and equally many columns.
void chord_product(const ChordPattern& pattern,
                   std::span<const double> values,
                   const ConstBlock& X,
                   Block Y);
void chord_product(const ChordPattern& pattern,
                   std::span<const float> values,
                   const ConstBlockOf<float>& X,
                   BlockOf<float> Y);
void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const double> values,
                             const ConstBlock& X,
                             Block Y);
void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const float> values,
                             const ConstBlockOf<float>& X,
                             BlockOf<float> Y);

/// A chain of Chord factors whose values stay in the memory space where they were computed, with
/// the rows of each factor distributed over several processes: no process holds all values. Copies
/// share the values. Every function that reads them throws NotAvailable once that memory space no
/// longer exists.
class PlacedChord {
 public:
  /// `values`: pattern.stored_numbers() numbers in one column, in the layout of ChordFactors.
  /// `product` multiplies by the chain of these values, bit-identical to kernels::chord_apply.
  PlacedChord(ChordPattern pattern,
              std::shared_ptr<const MultiVector> values,
              std::shared_ptr<const LinearOperator> product)
      : pattern_(std::move(pattern)), values_(std::move(values)), product_(std::move(product)) {}

  const ChordPattern& pattern() const { return pattern_; }
  Index rows() const { return pattern_.order; }
  Index cols() const { return pattern_.order; }
  Index size() const { return values_->size(); }
  const MultiVector& values() const { return *values_; }
  const LinearOperator& product() const { return *product_; }
  /// Memory space of the blocks that product() multiplies.
  const std::shared_ptr<const MemorySpace>& space() const { return product_->memory_space(); }

  /// Return W X and W^T X, on the host, for blocks on the host.
  Matrix apply(const ConstBlock& X) const { return product_->apply(X); }
  Matrix apply_transpose(const ConstBlock& X) const { return product_->apply_transpose(X); }
  /// Copies values first .. first + count - 1 to the host.
  void read(Index first, Index count, double* host) const;
  /// Returns a copy on the host.
  ChordFactors to_host() const;

 private:
  ChordPattern pattern_;
  std::shared_ptr<const MultiVector> values_;
  std::shared_ptr<const LinearOperator> product_;
};

}  // namespace matapprox
