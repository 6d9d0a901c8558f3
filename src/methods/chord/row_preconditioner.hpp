#pragma once

#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// SOAP [VMZ+25] for the rows of a chain's factors: for each row of K values, axes along which the
/// entries of its gradient are nearly uncorrelated. On the host.
class RowPreconditioner {
 public:
  RowPreconditioner() = default;  ///< an empty preconditioner
  /// Starts with the axes of the values. `links`: number of links of each factor, at least one.
  RowPreconditioner(Index order, std::vector<Index> links);
  explicit RowPreconditioner(const ChordPattern& pattern);

  /// Number of floats stored, about 2 N times the sum of the squared links.
  static double size_of(const ChordPattern& pattern);

  bool empty() const { return links_.empty(); }
  const std::vector<Index>& links() const { return links_; }
  /// The complete state on which steps depend.
  Vector numbers() const;
  /// Restores the state. Throws InvalidArgument unless it has as many numbers as numbers(), all
  /// finite.
  void set_numbers(const Vector& numbers);
  /// Restores the initial state.
  void reset();

  /// Takes Adam's step `number` in the coordinates of the axes, which it first rotates slightly.
  /// The bits do not depend on the number of threads.
  void step(
      const MemorySpace::Adam& adam, Index number, const double* gradient, double* mean, double* x);

 private:
  /// Number of blocks of one factor.
  Index blocks() const;

  Index order_ = 0;
  std::vector<Index> links_;
  std::vector<float> numbers_;  ///< block after block, factor after factor
};

}  // namespace matapprox::chord_fit
