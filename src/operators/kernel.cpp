#include "matapprox/operators/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "operators/finite.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox {
namespace {

constexpr Index kTileColumns = 128;

Index tiles_of(Index count, Index size) { return (count + size - 1) / size; }

bool has_bandwidth(KernelFunction function) {
  return function != KernelFunction::kPolynomial && function != KernelFunction::kLinear &&
         function != KernelFunction::kCosine;
}

void check(const Matrix& points, const KernelOptions& options) {
  require(points.rows() >= 1 && points.cols() >= 1,
          "kernel: {} x {} points; at least one point with one coordinate is needed",
          points.rows(),
          points.cols());
  require_finite(points, "kernel points");
  if (has_bandwidth(options.function)) {
    const double h = options.bandwidth;
    require(
        h == 0 || (h >= 1e-150 && h <= 1e150), "kernel: bandwidth {} is outside 1e-150..1e150", h);
  }
  if (options.function == KernelFunction::kPolynomial) {
    require(options.degree >= 1 && options.degree <= 64,
            "kernel: degree {} is outside 1..64",
            options.degree);
    require(std::isfinite(options.offset), "kernel: offset {} is not finite", options.offset);
  }
}

double chosen_bandwidth(const Matrix& points, const KernelOptions& options) {
  if (!has_bandwidth(options.function)) return 0;
  if (options.bandwidth != 0) return options.bandwidth;
  // The 1 x 1 kernel matrix is 1 for any bandwidth.
  return points.rows() == 1 ? 1.0 : median_bandwidth(points, 1, options.function);
}

}  // namespace

Matrix unit_directions(const Matrix& points) {
  Matrix directions = points;
  for (Index i = 0; i < points.rows(); ++i) {
    const double length = points.row(i).stableNorm();
    if (length > 0) directions.row(i) /= length;
  }
  return directions;
}

TileKernel tile_kernel(const KernelOptions& options, Index dimension) {
  const double h = options.bandwidth;
  TileKernel kernel{options.function, 1.0, options.offset, options.degree};
  switch (options.function) {
    case KernelFunction::kGaussian:
      kernel.scale = -0.5 / (h * h);
      break;
    case KernelFunction::kLaplacian:
      kernel.scale = -1.0 / h;
      break;
    case KernelFunction::kMatern32:
      kernel.scale = 3.0 / (h * h);
      break;
    case KernelFunction::kMatern52:
      kernel.scale = 5.0 / (h * h);
      break;
    case KernelFunction::kPolynomial:
      kernel.scale = 1.0 / static_cast<double>(dimension);
      break;
    case KernelFunction::kLinear:
    case KernelFunction::kCosine:
      break;
  }
  return kernel;
}

Index kernel_tile_rows(Index dimension) { return std::clamp<Index>(512 / dimension, 2, 8) * 32; }

void add_kernel_product(const TileKernel& kernel,
                        const KernelPoints& rows,
                        const KernelPoints& columns,
                        const ConstBlock& X,
                        Block Y) {  // NOLINT(performance-unnecessary-value-param): a view
  const Index height = kernel_tile_rows(rows.points.cols());
  const Index n = columns.points.cols();
  const bool cosine = kernel.function == KernelFunction::kCosine;
  parallel_for(tiles_of(rows.points.rows(), height), [&](Index tile) {
    const Index row = tile * height;
    const Index count = std::min(height, rows.points.rows() - row);
    const PackedPoints packed = pack_points(rows.points, row, count);
    Matrix entries(count, kTileColumns);
    Block target = Y.middleRows(row, count);
    for (Index column = 0; column < n; column += kTileColumns) {
      throw_if_stop_requested();  // a tile covers all columns, of which there may be a million
      const Index width = std::min(kTileColumns, n - column);
      Block K = entries.leftCols(width);
      accumulate_tile(kernel.accumulation(), packed, columns.points.middleCols(column, width), K);
      transform_tile(kernel, K);
      const Index first = rows.first + row;
      const Index j = columns.first + column;
      for (Index i = std::max(first, j); cosine && i < std::min(first + count, j + width); ++i)
        K(i - first, i - j) = rows.points.row(i - rows.first).isZero(0) ? 0 : 1;
      const ConstBlock x = X.middleRows(column, width);
      kernels::gemm(
          kernels::Trans::kNo, K, kernels::Trans::kNo, x, target, 1.0, j == 0 ? 0.0 : 1.0);
    }
  });
}

KernelOperator::KernelOperator(Matrix points, KernelOptions options)
    : points_(std::move(points)), options_(options) {
  check(points_, options_);
  options_.bandwidth = chosen_bandwidth(points_, options_);
  if (options_.function == KernelFunction::kCosine) directions_ = unit_directions(points_);
  // |x.y| <= |x| |y|, so a finite diagonal implies finite entries.
  const Vector diagonal = this->diagonal();
  for (Index i = 0; i < diagonal.size(); ++i) {
    if (std::isfinite(diagonal(i))) continue;
    throw NumericalError(
        fmt::format("kernel: point {}, counted from 0, is too large: its {} kernel overflows",
                    i,
                    enum_name(options_.function)));
  }
}

Vector KernelOperator::diagonal() const {
  const Index n = rows();
  if (has_bandwidth(options_.function)) return Vector::Ones(n);
  if (options_.function == KernelFunction::kCosine) {
    return (directions_.cwiseAbs().rowwise().maxCoeff().array() > 0).cast<double>();
  }
  // Computes each point in a tile of its own, which gives exactly the bits of K(i, i).
  Vector result(n);
  const TileKernel kernel = tile_kernel(options_, points_.cols());
  parallel_for(tiles_of(n, kTileColumns), [&](Index tile) {
    const Index end = std::min(n, (tile + 1) * kTileColumns);
    for (Index i = tile * kTileColumns; i < end; ++i) {
      Matrix entry(1, 1);
      const Matrix point = points_.row(i).transpose();
      accumulate_tile(kernel.accumulation(), pack_points(points_, i, 1), point, entry);
      transform_tile(kernel, entry);
      result(i) = entry(0, 0);
    }
  });
  return result;
}

Cost KernelOperator::cost() const {
  const auto n = static_cast<double>(rows());
  const auto d = static_cast<double>(points_.cols());
  return {.stored_numbers = points_.size(),
          .stored_bytes = points_.size() * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = n * n * (d + 1),
          .multiplications_per_column = n * d,
          .multiplications_for_diagonal = n * d};
}

KnownFacts KernelOperator::known_facts() const {
  return {.symmetric = true, .nonzeros = {}, .frobenius_norm = {}};
}

std::string KernelOperator::description() const {
  std::string size = fmt::format("{} kernel of {} points in {} dimensions",
                                 enum_name(options_.function),
                                 points_.rows(),
                                 points_.cols());
  if (has_bandwidth(options_.function)) {
    return fmt::format("{}, bandwidth {:.6g}", size, options_.bandwidth);
  }
  if (options_.function == KernelFunction::kPolynomial) {
    return fmt::format("{}, degree {}, offset {:.6g}", size, options_.degree, options_.offset);
  }
  return size;
}

const Matrix& KernelOperator::compared_points() const {
  return options_.function == KernelFunction::kCosine ? directions_ : points_;
}

/// Sets Y(:, k) to the kernel of the rows of `points` and point J[k], by tiles of rows. The
/// diagonal of a cosine kernel is left as rounded.
void KernelOperator::compare(const Matrix& points, std::span<const Index> J, Block Y) const {
  const TileKernel kernel = tile_kernel(options_, points.cols());
  Matrix chosen(points.cols(), Y.cols());
  for (Index k = 0; k < Y.cols(); ++k) {
    chosen.col(k) = compared_points().row(J[static_cast<std::size_t>(k)]).transpose();
  }
  const Index height = kernel_tile_rows(points.cols());
  parallel_for(tiles_of(points.rows(), height), [&](Index tile) {
    const Index first = tile * height;
    const Index count = std::min(height, points.rows() - first);
    const PackedPoints packed = pack_points(points, first, count);
    for (Index k = 0; k < Y.cols(); k += kTileColumns) {
      throw_if_stop_requested();  // in the first tile the system clears the memory of all columns
      const Index width = std::min(kTileColumns, Y.cols() - k);
      Block target = Y.block(first, k, count, width);
      accumulate_tile(kernel.accumulation(), packed, chosen.middleCols(k, width), target);
      transform_tile(kernel, target);
    }
  });
}

void KernelOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  compare(compared_points(), J, Y);
  if (options_.function != KernelFunction::kCosine) return;
  const Vector ones = diagonal();
  for (Index k = 0; k < Y.cols(); ++k) {
    const Index j = J[static_cast<std::size_t>(k)];
    Y(j, k) = ones(j);
  }
}

Matrix KernelOperator::block(std::span<const Index> I, std::span<const Index> J) const {
  // K(i, j) and K(j, i) have the same bits, and the vectors of the inner loop run along I.
  if (I.size() < J.size()) return block(J, I).transpose();
  for (const std::span<const Index> chosen : {I, J}) {
    for (const Index i : chosen) {
      require(i >= 0 && i < rows(), "kernel: index {} is outside 0..{}", i, rows() - 1);
    }
  }
  const Matrix points = compared_points()(I, Eigen::all);
  Matrix K(points.rows(), static_cast<Index>(J.size()));
  compare(points, J, K);
  if (options_.function != KernelFunction::kCosine) return K;
  for (Index c = 0; c < K.cols(); ++c) {
    const Index j = J[static_cast<std::size_t>(c)];
    for (Index r = 0; r < K.rows(); ++r) {
      if (I[static_cast<std::size_t>(r)] == j) K(r, c) = directions_.row(j).isZero(0) ? 0 : 1;
    }
  }
  return K;
}

void KernelOperator::do_rows_at(std::span<const Index> I, Block Y) const { do_columns_at(I, Y); }

void KernelOperator::do_apply(const ConstBlock& X, Block Y) const {
  const Matrix& points = compared_points();
  const Matrix columns = points.transpose();
  add_kernel_product(tile_kernel(options_, points.cols()), {points, 0}, {columns, 0}, X, Y);
}

void KernelOperator::do_apply_transpose(const ConstBlock& X, Block Y) const { do_apply(X, Y); }

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
