#include "host_objective.hpp"

#include <cstddef>
#include <thread>

namespace matapprox::cuda {
namespace {

/// Columns of a panel: two accesses of 64 bytes.
constexpr Index kWidth = 16;

/// Y = W_m X or W_m^T X for row-major N x kWidth panels.
void multiply(const ChordShape& shape,
              Index m,
              const double* values,
              const double* x,
              double* y,
              bool transposed) {
  const Index n = shape.order;
  const auto& offsets = shape.offsets[static_cast<std::size_t>(m)];
  for (Index i = 0; i < n; ++i) {
    double sums[kWidth] = {};
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index to = transposed ? i - offsets[k] : i + offsets[k];
      Index j = to < 0 ? to + n : to;
      if (j >= n) j -= n;
      const double w = values[static_cast<Index>(k) * n + (transposed ? j : i)];
      const double* from = x + j * kWidth;
      for (Index c = 0; c < kWidth; ++c) sums[c] += w * from[c];
    }
    for (Index c = 0; c < kWidth; ++c) y[i * kWidth + c] = sums[c];
  }
}

/// gradient of W_m += that of <G, W_m X>.
void add_gradient(
    const ChordShape& shape, Index m, const double* g, const double* x, double* gradient) {
  const Index n = shape.order;
  const auto& offsets = shape.offsets[static_cast<std::size_t>(m)];
  for (Index i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index to = i + offsets[k];
      const double* a = g + i * kWidth;
      const double* b = x + (to < n ? to : to - n) * kWidth;
      // Four sums: one would wait for itself.
      double sums[4] = {};
      for (Index c = 0; c < kWidth; c += 4) {
        for (Index l = 0; l < 4; ++l) sums[l] += a[c + l] * b[c + l];
      }
      gradient[static_cast<Index>(k) * n + i] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
}

/// What one thread adds up.
struct Share {
  double f = 0;
  std::vector<double> gradient;
  std::vector<double> panels;  ///< M + 1
};

void add_panel(const ChordShape& shape,
               const std::vector<double>& values,
               const std::vector<double>& X,
               Index first,
               Share& share) {
  const Index n = shape.order;
  const Index factors = shape.factors();
  const auto panel = [&](Index m) { return share.panels.data() + m * n * kWidth; };
  const Index count = n - first < kWidth ? n - first : kWidth;
  std::fill_n(panel(factors), n * kWidth, 0.0);
  for (Index c = 0; c < count; ++c) panel(factors)[(first + c) * kWidth + c] = 1;
  for (Index m = factors - 1; m >= 0; --m)
    multiply(shape, m, values.data() + shape.first_value(m), panel(m + 1), panel(m), false);
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < count; ++c) {
      double& r = panel(0)[i * kWidth + c];
      r -= X[static_cast<std::size_t>(i * n + first + c)];
      share.f += r * r / 2;
    }
  }
  for (Index m = 0; m < factors; ++m) {
    const Index at = shape.first_value(m);
    add_gradient(shape, m, panel(m), panel(m + 1), share.gradient.data() + at);
    if (m + 1 < factors) multiply(shape, m, values.data() + at, panel(m), panel(m + 1), true);
  }
}

}  // namespace

double host_objective(const ChordShape& shape,
                      const std::vector<double>& values,
                      const std::vector<double>& X,
                      int threads,
                      std::vector<double>& gradient) {
  std::vector<Share> shares(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Share& share = shares[static_cast<std::size_t>(t)];
      share.gradient.assign(values.size(), 0);
      share.panels.assign(static_cast<std::size_t>((shape.factors() + 1) * shape.order * kWidth),
                          0);
      for (Index first = t * kWidth; first < shape.order; first += threads * kWidth)
        add_panel(shape, values, X, first, share);
    });
  }
  for (std::thread& worker : workers) worker.join();
  double f = 0;
  gradient.assign(values.size(), 0);
  for (const Share& share : shares) {
    f += share.f;
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += share.gradient[i];
  }
  return f;
}

}  // namespace matapprox::cuda
