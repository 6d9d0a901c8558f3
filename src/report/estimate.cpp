#include "report/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/require.hpp"
#include "core/student.hpp"
#include "matapprox/core/random.hpp"
#include "report/panel_norm.hpp"

namespace matapprox::report {
namespace {

/// Probes at a time: 64, or what keeps a block near 128 MB. Depends on the shape only, so that the
/// result does not depend on the machine.
Index block_width(Index m, Index n) {
  const auto longest = std::max<Index>({m, n, 1});
  return std::clamp<Index>((Index{1} << 24) / longest, 4, 64);
}

NormEstimate from_samples(const std::vector<double>& norms) {
  const double largest = *std::max_element(norms.begin(), norms.end());
  if (largest == 0) return {};
  const auto count = static_cast<double>(norms.size());
  double mean = 0;
  for (const double norm : norms) mean += (norm / largest) * (norm / largest) / count;
  double variance = 0;
  for (const double norm : norms) {
    const double deviation = (norm / largest) * (norm / largest) - mean;
    variance += deviation * deviation / (count - 1);
  }
  // The interval of log(mean) by the delta method, halved by the square root.
  const double half_width = student_quantile(static_cast<Index>(norms.size()) - 1) *
                            std::sqrt(variance / count) / mean / 2;
  const double norm = largest * std::sqrt(mean);
  return {norm, {norm * std::exp(-half_width), norm * std::exp(half_width)}};
}

}  // namespace

NormEstimate estimate_norm(Index m,
                           Index n,
                           const MeasureOptions& options,
                           const std::function<Matrix(const Matrix&)>& product,
                           const std::function<void()>& between_blocks) {
  require(
      options.probes >= 8, "measure: {} probes are too few, at least 8 are needed", options.probes);
  const Index width = block_width(m, n);
  std::vector<double> norms;
  for (Index first = 0; first < options.probes; first += width) {
    between_blocks();
    Matrix W(n, std::min(width, options.probes - first));
    fill_normal(options.seed, RandomStream::kMeasure, W, 0, first);
    const Matrix image = product(W);
    for (Index j = 0; j < image.cols(); ++j) norms.push_back(panel_norm(image.col(j)));
  }
  return from_samples(norms);
}

}  // namespace matapprox::report
