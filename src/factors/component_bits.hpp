#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reverse water-filling over the components of a low-rank product: at a price of a byte in squared
/// error, each component gets the width that minimizes sigma^2 t(b) + price * bytes.
class ComponentBits {
 public:
  /// Each component has a column of `rows` values and one of `cols` values (0: none), in one of
  /// these widths (ascending), and `overhead` further bytes.
  ComponentBits(Index rows, Index cols, double overhead, const std::vector<int>& widths);

  struct Choice {
    std::vector<int> bits;  ///< width of each component, 0 if it is left out
    double bytes = 0;
    double squared_error = 0;  ///< expected
    Index kept = 0;
    double price = 0;  ///< price at which it minimizes squared_error + price * bytes
  };
  /// `squares`: squared singular values, descending, scaled so that the largest is about 1: the
  /// tried prices extend to 40 decades below it.
  Choice at_price(const Vector& squares, double price) const;
  /// Choice with the least error at a common price within `bytes` bytes.
  Choice within_bytes(const Vector& squares, double bytes) const;
  /// Choice with the fewest bytes and at most that squared error; all components at the largest
  /// width if there is no such choice.
  Choice within_error(const Vector& squares, double squared_error) const;
  double least_bytes() const { return widths_.front().bytes; }

 private:
  /// A width on the lower convex hull of bytes and noise.
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
