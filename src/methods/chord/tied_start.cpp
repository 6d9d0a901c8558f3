#include "methods/chord/tied_start.hpp"

#include <cmath>

#include "matapprox/core/random.hpp"
#include "methods/chord/adam.hpp"
#include "methods/chord/start.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kSteps = 1000;
constexpr double kLargestStep = 0.3;
constexpr double kNoiseLeft = 0.2;              // of the random start
constexpr Index kRowOfItsOwn = Index{1} << 40;  // one a start

/// Between one number a link of each factor and the values of the chain.
struct TiedValues {
  const ChordPattern& pattern;

  Vector sum_over_rows(const Vector& values) const {
    std::vector<double> sums;
    for (Index m = 0; m < pattern.factors(); ++m) {
      const Eigen::Map<const Matrix> rows(
          values.data() + pattern.first_value(m), pattern.links(m), pattern.order);
      for (Index k = 0; k < rows.rows(); ++k) sums.push_back(rows.row(k).sum());
    }
    return Eigen::Map<const Vector>(sums.data(), static_cast<Index>(sums.size()));
  }

  Vector spread(const Vector& tied) const {
    Vector values(pattern.stored_numbers());
    Index at = 0;
    for (Index m = 0; m < pattern.factors(); ++m) {
      const Index K = pattern.links(m);
      Eigen::Map<Matrix>(values.data() + pattern.first_value(m), K, pattern.order).colwise() =
          tied.segment(at, K);
      at += K;
    }
    return values;
  }
};

}  // namespace

Vector tied_start(const ChordPattern& pattern,
                  const SampledObjective& objective,
                  ColumnSample& sample,
                  std::uint64_t seed,
                  Index start) {
  Vector random = random_start(pattern, seed, start);
  const TiedValues tie{pattern};
  FitState tied;
  // The mean over the rows of the random start, with as much noise as one row has: factors that are
  // equal would stay so, because circulant matrices commute.
  const Vector mean_row = tie.sum_over_rows(random) / static_cast<double>(pattern.order);
  tied.point = mean_row;
  for (Index p = 0; p < tied.point.size(); ++p)
    tied.point(p) += 0.1 * random_normal(seed, RandomStream::kChordStart, kRowOfItsOwn + start, p);
  tied.mean = Vector::Zero(tied.point.size());
  tied.square = Vector::Zero(tied.point.size());
  Vector gradient(pattern.stored_numbers());
  while (tied.adam_step < kSteps) {
    const Vector values = tie.spread(tied.point);
    const double f = objective(sample.step(tied.adam_step), values.data(), gradient.data());
    if (!std::isfinite(f) || !gradient.allFinite()) return random;
    adam_step(tied, tie.sum_over_rows(gradient), kSteps, kLargestStep);
  }
  return tie.spread(tied.point) + kNoiseLeft * (random - tie.spread(mean_row));
}

}  // namespace matapprox::chord_fit
