#include "methods/chord/start.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::chord_fit {

namespace {

/// Computes |x| of numbers given in sequence, as Eigen's stableNorm does: without overflow, in
/// blocks that begin with the first number, whatever its address.
class StableNorm {
 public:
  static constexpr Index kBlock = 4096;

  /// Adds `count` numbers: whole blocks, except in the last call.
  void add(const double* numbers, Index count) {
    for (Index first = 0; first < count; first += kBlock)
      add_block(Eigen::Map<const Vector>(numbers + first, std::min(kBlock, count - first)));
  }
  double value() const { return scale_ * std::sqrt(squares_); }

 private:
  void add_block(const Eigen::Map<const Vector>& block) {
    const double largest = block.cwiseAbs().maxCoeff();
    if (largest > scale_) {
      constexpr double kMax = std::numeric_limits<double>::max();
      squares_ *= scale_ / largest * (scale_ / largest);
      inverse_ = std::min(1 / largest, kMax);
      scale_ = 1 / largest > kMax ? 1 / kMax : largest;
    }
    if (scale_ > 0) squares_ += (block * inverse_).squaredNorm();
  }

  double scale_ = 0;
  double inverse_ = 1;  ///< 1 / scale_
  double squares_ = 0;  ///< sum of squares of the numbers over scale_
};

/// Returns the multipliers of factors with these norms; empty if one norm is zero.
std::vector<double> balancing(const std::vector<double>& norms, double scale) {
  if (std::ranges::find(norms, 0.0) != norms.end()) return {};
  // All norms become g, where g^M is `scale` times their product. The first multiplier is `scale`
  // over the others, so that rounding in g does not change the product.
  const Eigen::Map<const Vector> all(norms.data(), std::ssize(norms));
  const double log_g =
      (all.array().log().sum() + std::log(scale)) / static_cast<double>(all.size());
  std::vector<double> factors{scale};
  for (std::size_t m = 1; m < norms.size(); ++m) {
    factors.push_back(std::exp(log_g - std::log(norms[m])));
    factors.front() /= factors.back();
  }
  return factors;
}

Index numbers_of_factor(const ChordPattern& pattern, Index m) {
  return pattern.order * pattern.links(m);
}

}  // namespace

void balance(const ChordPattern& pattern, double scale, double* values) {
  std::vector<double> norms;
  for (Index m = 0; m < pattern.factors(); ++m) {
    StableNorm norm;
    norm.add(values + pattern.first_value(m), numbers_of_factor(pattern, m));
    norms.push_back(norm.value());
  }
  const std::vector<double> by = balancing(norms, scale);
  for (Index m = 0; m < std::ssize(by); ++m) {
    Eigen::Map<Vector>(values + pattern.first_value(m), numbers_of_factor(pattern, m)) *=
        by[static_cast<std::size_t>(m)];
  }
}

void balance(const ChordPattern& pattern, double scale, MultiVector& values) {
  constexpr Index kPiece = 64 * StableNorm::kBlock;
  const MemorySpace& space = *values.space();
  std::vector<double> norms;
  std::vector<double> piece(static_cast<std::size_t>(std::min(kPiece, pattern.stored_numbers())));
  for (Index m = 0; m < pattern.factors(); ++m) {
    StableNorm norm;
    const Index numbers = numbers_of_factor(pattern, m);
    for (Index first = 0; first < numbers; first += kPiece) {
      const Index count = std::min(kPiece, numbers - first);
      space.read_rows(
          values.rows(), values.data(), 1, pattern.first_value(m) + first, count, piece.data());
      norm.add(piece.data(), count);
    }
    norms.push_back(norm.value());
  }
  const std::vector<double> by = balancing(norms, scale);
  for (Index m = 0; m < std::ssize(by); ++m) {
    space.scale(values.data() + pattern.first_value(m),
                numbers_of_factor(pattern, m),
                by[static_cast<std::size_t>(m)]);
  }
}

Vector random_start(const ChordPattern& pattern, std::uint64_t seed, Index start) {
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index i = 0; i < pattern.order; ++i) {
      for (Index k = 0; k < K; ++k) {
        const double mean = K == 1 ? 1.0 : k == 0 ? 0.5 : 0.5 / static_cast<double>(K - 1);
        const double z = random_normal(
            seed, RandomStream::kChordStart, start * pattern.factors() + m, i * K + k);
        W[i * K + k] = mean + 0.1 * z;
      }
    }
  }
  return values;
}

Vector paper_start(const ChordPattern& pattern, std::uint64_t seed, Index start, double unit) {
  constexpr double kSpread = 0.01;
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index e = 0; e < pattern.order * K; ++e) {
      const double u =
          random_uniform(seed, RandomStream::kChordStart, start * pattern.factors() + m, e);
      W[e] = 1 / static_cast<double>(K) + kSpread * u;
    }
  }
  balance(pattern, 1 / unit, values.data());
  return values;
}

Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit) {
  require(given.pattern == pattern,
          "chord: the warm start has another pattern: {} factors of order {} with {} values; this "
          "fit has {} of order {} with {}",
          given.pattern.factors(),
          given.pattern.order,
          given.values.size(),
          pattern.factors(),
          pattern.order,
          pattern.stored_numbers());
  require(static_cast<Index>(given.values.size()) == pattern.stored_numbers(),
          "chord: the warm start has {} values, but its pattern has {}",
          given.values.size(),
          pattern.stored_numbers());
  Vector values = Eigen::Map<const Vector>(given.values.data(), pattern.stored_numbers());
  require(values.allFinite(), "chord: the warm start holds NaN or Inf");
  balance(pattern, 1 / unit, values.data());
  return values;
}

}  // namespace matapprox::chord_fit
