#include "methods/hierarchical/peeled_source.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "methods/finite.hpp"

namespace matapprox::blocks {
namespace {

/// Matrices up to this order are stored and examined entry by entry.
constexpr Index kMaxHeldOrder = 8192;
/// Peeling is not used if a column costs less than this fraction of a product.
constexpr double kColumnShare = 0.5;
constexpr Index kPeelingProbes = 8;
/// Fraction of the tolerance that the error of peeling may take. Without a tolerance peeling
/// continues to rounding, up to the rank that fits into the bytes.
constexpr double kPeelingShare = 0.1;
constexpr double kPeelingRounding = 1e-13;
/// Least bytes of a value, and largest share of the bytes for a level, over an equal share.
constexpr double kMinPeeledBytes = 3.0 / 8;
constexpr double kLevelShare = 3;
constexpr Index kMinRank = 16;

/// |W|_F^2 per column; its expectation is |A|_F^2 for W = A times normal vectors.
double mean_square(const Matrix& W) { return W.squaredNorm() / static_cast<double>(W.cols()); }

/// A power of 2 that brings the entries to at most 1.
double scale_of(const PeeledMatrix& A) {
  double largest = 0;
  for (const PeeledLeaf& leaf : A.leaves()) {
    largest = std::max(largest, leaf.values.cwiseAbs().maxCoeff());
  }
  for (const auto& level : A.levels()) {
    for (const PeeledBlock& block : level) {
      const double bound =
          block.X.rowwise().norm().maxCoeff() * block.Y.rowwise().norm().maxCoeff();
      largest = std::max(largest, bound);
    }
  }
  if (!(largest > 0)) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

}  // namespace

bool is_worth_peeling(const LinearOperator& A) {
  const Cost cost = A.cost();
  return A.rows() == A.cols() && A.rows() > kMaxHeldOrder &&
         cost.multiplications_per_column >= kColumnShare * cost.multiplications_per_apply;
}

std::optional<PeeledSource> peeled_source(const LinearOperator& A,
                                          Index leaf,
                                          double tolerance,
                                          double bytes,
                                          std::uint64_t seed,
                                          const RunControl& control) {
  const Index n = A.rows();
  const Matrix probes = random_normal_matrix(seed, RandomStream::kCoSketch, n, kPeelingProbes);
  const Matrix image = A.apply(probes);
  require_finite(image, "hierarchical");
  const double part = tolerance > 0 ? kPeelingShare * tolerance : kPeelingRounding;
  PeelOptions options;
  options.leaf = leaf;
  options.symmetric = is_symmetric(A);
  options.least = part * part * mean_square(image);
  options.max_products = n / 2;
  options.seed = seed;
  const double levels =
      std::max(std::log2(static_cast<double>(n) / static_cast<double>(leaf)), 1.0);
  const double rank = kLevelShare * bytes / (kMinPeeledBytes * static_cast<double>(n) * levels);
  options.max_rank =
      tolerance > 0
          ? n
          : std::max(kMinRank, static_cast<Index>(std::min(rank, static_cast<double>(n))));
  std::optional<PeeledMatrix> peeled = PeeledMatrix::found(A, options, control);
  if (!peeled) return std::nullopt;
  PeeledSource source;
  source.scale = scale_of(*peeled);
  // These vectors had no part in the peeling.
  const Matrix rest = image - peeled->multiply(false, probes);
  source.missed = mean_square(rest * source.scale);
  peeled->scale(source.scale);
  source.blocks = std::make_unique<PeeledBlocks>(std::move(*peeled), leaf);
  return source;
}

}  // namespace matapprox::blocks
