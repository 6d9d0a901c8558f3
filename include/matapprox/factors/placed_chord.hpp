#pragma once

#include <memory>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

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
