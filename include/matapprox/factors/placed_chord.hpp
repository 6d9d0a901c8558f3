#pragma once

#include <memory>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

/// A chain of Chord factors whose values stay in the memory where they came about, by rows of each
/// factor over several processes: nobody holds all of them. Copies share the values. Throws
/// NotAvailable, in every function that reads them, once that memory is gone.
class PlacedChord {
 public:
  /// `values`: pattern.stored_numbers() of them, in one column in the layout of ChordFactors;
  /// `product` multiplies by the chain of these, with the bits of kernels::chord_apply.
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
  /// Where blocks lie that product() multiplies.
  const std::shared_ptr<const MemorySpace>& space() const { return product_->memory_space(); }

  /// W X and W^T X for blocks on the host, where the result is.
  Matrix apply(const ConstBlock& X) const { return product_->apply(X); }
  Matrix apply_transpose(const ConstBlock& X) const { return product_->apply_transpose(X); }
  /// Values first .. first + count - 1, to the host.
  void read(Index first, Index count, double* host) const;
  /// A copy on the host.
  ChordFactors to_host() const;

 private:
  ChordPattern pattern_;
  std::shared_ptr<const MultiVector> values_;
  std::shared_ptr<const LinearOperator> product_;
};

}  // namespace matapprox
