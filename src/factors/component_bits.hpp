#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reverse water-filling over the components of a product of low rank: at a price of a byte in
/// squared error each takes the width at which sigma^2 t(b) + price * bytes is least.
class ComponentBits {
 public:
  /// Components of a column of `rows` and one of `cols` values (0: there is none), in these widths
  /// (ascending), with `overhead` bytes each.
  ComponentBits(Index rows, Index cols, double overhead, const std::vector<int>& widths);

  struct Choice {
    std::vector<int> bits;  ///< of each component, 0 where it is left out
    double bytes = 0;
    double squared_error = 0;  ///< expected
    Index kept = 0;
    double price = 0;  ///< at which it is the best: squared_error + price * bytes is least
  };
  /// `squares` of the singular values, descending, in units in which the largest is about 1: the
  /// prices that are tried lie up to 40 decades below it.
  Choice at_price(const Vector& squares, double price) const;
  /// The least error of a common price within so many bytes.
  Choice within_bytes(const Vector& squares, double bytes) const;
  /// The fewest bytes with at most that squared error; all components at the widest where there is
  /// no such choice.
  Choice within_error(const Vector& squares, double squared_error) const;
  double least_bytes() const { return widths_.front().bytes; }

 private:
  /// On the lower convex hull of bytes and noise.
  struct Width {
    int bits = 0;
    double bytes = 0;
    double noise = 1;
    /// A square of more than this times the price is worth this width.
    double threshold = 0;
  };

  template <class Fits>
  Choice at_edge(const Vector& squares, bool dearest, const Fits& fits) const;

  std::vector<Width> widths_;  ///< narrowest first
};

}  // namespace matapprox
