#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox {

/// A kernel function of two points x, y in d dimensions; r = |x - y|_2, h the bandwidth.
enum class KernelFunction {
  kGaussian,    ///< exp(-r^2 / (2 h^2))
  kLaplacian,   ///< exp(-|x - y|_1 / h): the sum of absolute differences, not r
  kMatern32,    ///< (1 + s) exp(-s), s = sqrt(3) r / h
  kMatern52,    ///< (1 + s + s^2 / 3) exp(-s), s = sqrt(5) r / h
  kPolynomial,  ///< (x.y / d + offset)^degree
  kLinear,      ///< x.y
  kCosine,      ///< x.y / (|x|_2 |y|_2); 0 where a point is 0
};

template <>
struct EnumNames<KernelFunction> {
  static constexpr std::array<std::string_view, 7> values{
      "gaussian", "laplacian", "matern32", "matern52", "polynomial", "linear", "cosine"};
};

struct KernelOptions {
  KernelFunction function = KernelFunction::kGaussian;
  double bandwidth = 0;  ///< h, 1e-150..1e150; 0: the median rule. Unused by the last three.
  Index degree = 3;      ///< degree of the polynomial kernel, 1..64
  double offset = 1;     ///< offset of the polynomial kernel, finite
};

/// The median rule: the median of the distances between all pairs of distinct points, by index, of
/// a seeded sample of at most 1000 points (all points if there are no more). The distance is the
/// one that `function` uses: |x - y|_1 for the Laplacian kernel, |x - y|_2 for all others. If more
/// than half of the distances are 0, it is the median of the others. Throws InvalidArgument if
/// there are fewer than two points or all sampled points are equal.
double median_bandwidth(const Matrix& points,
                        std::uint64_t seed = 1,
                        KernelFunction function = KernelFunction::kGaussian);

/// The N x N matrix K(i, j) = kernel(point i, point j), never formed: entries are computed in tiles
/// when a product or a column requires them. Distances are sums of differences, not differences of
/// inner products, so that near points lose no digits; K(i, j) and K(j, i) are bit-identical, and
/// the diagonal is exactly 1 if the formula says 1. Stores N d numbers. A product with a block of b
/// columns takes N^2 (d + b) multiplications and N^2 exponentials, a column N d and N; additional
/// memory is one tile per thread.
class KernelOperator final : public LinearOperator {
 public:
  /// Rows of `points` (N x d) are the points. Throws InvalidArgument for an option outside its
  /// range or if the median rule finds no distance, NumericalError, naming row and column, for NaN
  /// or Inf.
  explicit KernelOperator(Matrix points, KernelOptions options = {});

  const Matrix& points() const { return points_; }
  const KernelOptions& options() const { return options_; }
  /// h as given or as found by the median rule; 0 for a kernel without one.
  double bandwidth() const { return options_.bandwidth; }
  /// Returns K(I, J), |I| x |J|, in the order of I and J; repeats are allowed. Bit-identical to
  /// columns_at. Cost: |I| |J| d multiplications and |I| |J| exponentials, (|I| + |J|) d numbers of
  /// additional memory. Throws InvalidArgument for an index outside 0..N-1.
  Matrix block(std::span<const Index> I, std::span<const Index> J) const;

  Index rows() const override { return points_.rows(); }
  Index cols() const override { return points_.rows(); }
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override;
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  const Matrix& compared_points() const;
  void compare(const Matrix& points, std::span<const Index> J, Block Y) const;

  Matrix points_;
  Matrix directions_;  ///< cosine: the points scaled to length 1; else empty
  KernelOptions options_;
};

}  // namespace matapprox
