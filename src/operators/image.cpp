#include "matapprox/operators/image.hpp"

#include <algorithm>
#include <cmath>

namespace matapprox {

namespace {

/// Maps i in -1..n to 0..n-1 by reflection at the border, without repeating the border pixel.
Index mirrored(Index i, Index n) {
  if (n == 1) return 0;
  if (i < 0) return -i;
  return i < n ? i : 2 * n - 2 - i;
}

struct Neighbors {
  double center, up, down, left, right;
};

template <class Formula>
Matrix for_each_pixel(const Matrix& image, Formula formula) {
  const Index m = image.rows();
  const Index n = image.cols();
  Matrix result(m, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      result(i, j) = formula(Neighbors{image(i, j),
                                       image(mirrored(i - 1, m), j),
                                       image(mirrored(i + 1, m), j),
                                       image(i, mirrored(j - 1, n)),
                                       image(i, mirrored(j + 1, n))});
    }
  }
  return result;
}

}  // namespace

Matrix gradient_magnitude(const Matrix& image) {
  return for_each_pixel(image, [](const Neighbors& p) {
    return std::hypot((p.right - p.left) / 2, (p.down - p.up) / 2);
  });
}

Matrix clipped_laplacian(const Matrix& image) {
  return for_each_pixel(image, [](const Neighbors& p) {
    return std::clamp(p.up + p.down + p.left + p.right - 4 * p.center, 0.0, 255.0);
  });
}

}  // namespace matapprox
