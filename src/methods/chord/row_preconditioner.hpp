#pragma once

#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::chord_fit {

/// SOAP [VMZ+25] for the rows of a chain's factors: for each row of K values, axes along which the
/// entries of its gradient are nearly uncorrelated. On the host.
class RowPreconditioner {
 public:
  RowPreconditioner() = default;  ///< none
  /// The axes are those of the values. `links`: of each factor, at least one.
  RowPreconditioner(Index order, std::vector<Index> links);
  explicit RowPreconditioner(const ChordPattern& pattern);

  /// Numbers (floats) that it keeps, about 2 N times the sum of the squared links.
  static double size_of(const ChordPattern& pattern);

  bool empty() const { return links_.empty(); }
  const std::vector<Index>& links() const { return links_; }
  /// All that its steps depend on.
  Vector numbers() const;
  /// Throws InvalidArgument unless they are as many as numbers(), and finite.
  void set_numbers(const Vector& numbers);
  /// As at the beginning.
  void reset();

  /// Adam's step `number` in the coordinates of the axes, which turn a little first. The same bits
  /// for any number of threads.
  void step(
      const MemorySpace::Adam& adam, Index number, const double* gradient, double* mean, double* x);

 private:
  /// Of one factor.
  Index blocks() const;

  Index order_ = 0;
  std::vector<Index> links_;
  std::vector<float> numbers_;  ///< block after block, factor after factor
};

}  // namespace matapprox::chord_fit
