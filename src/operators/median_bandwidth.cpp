#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/kernel.hpp"
#include "operators/finite.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox {

namespace {

constexpr Index kSample = 1000;
/// Row of the random numbers used here, far from those of landmark sampling.
constexpr Index kRandomRow = Index{1} << 40;

/// min(n, kSample) different indices below n: the first steps of a shuffle.
std::vector<Index> sample_indices(Index n, std::uint64_t seed) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  if (n <= kSample) return order;
  for (Index t = 0; t < kSample; ++t) {
    const Index pick = t + random_index(seed, RandomStream::kSampling, kRandomRow, t, n - t);
    std::swap(order[static_cast<std::size_t>(t)], order[static_cast<std::size_t>(pick)]);
  }
  order.resize(kSample);
  return order;
}

std::vector<double> pairwise_distances(const Matrix& points, KernelFunction function) {
  const Index n = points.rows();
  const Accumulation accumulation = TileKernel{function}.accumulation();
  const Matrix transposed = points.transpose();
  Matrix sums(n, n);
  accumulate_tile(accumulation, pack_points(points, 0, n), transposed, sums);
  std::vector<double> distances;
  distances.reserve(static_cast<std::size_t>(n * (n - 1) / 2));
  for (Index j = 0; j < n; ++j) {
    for (Index i = j + 1; i < n; ++i) distances.push_back(sums(i, j));
  }
  if (accumulation == Accumulation::kSquaredDifference) {
    for (double& distance : distances) distance = std::sqrt(distance);
  }
  return distances;
}

/// Reorders the values.
double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

}  // namespace

double median_bandwidth(const Matrix& points, std::uint64_t seed, KernelFunction function) {
  require(points.rows() >= 2 && points.cols() >= 1,
          "median bandwidth: {} x {} points; at least two points with one coordinate are needed",
          points.rows(),
          points.cols());
  require(TileKernel{function}.accumulation() != Accumulation::kProduct,
          "median bandwidth: the {} kernel has no bandwidth",
          enum_name(function));
  const std::vector<Index> chosen = sample_indices(points.rows(), seed);
  const Matrix sample = points(chosen, Eigen::all);
  require_finite(sample, "median bandwidth points");
  std::vector<double> distances = pairwise_distances(sample, function);
  double result = median(distances);
  if (result == 0) {
    std::erase(distances, 0.0);
    require(!distances.empty(),
            "median bandwidth: all {} sampled points are equal; give a bandwidth",
            sample.rows());
    result = median(distances);
  }
  require(result >= 1e-150 && result <= 1e150,
          "median bandwidth: the median distance {} is outside 1e-150..1e150; give a bandwidth or "
          "scale the points",
          result);
  return result;
}

}  // namespace matapprox
