#include "host_objective.hpp"

#include <algorithm>
#include <cstddef>
#include <thread>

namespace matapprox::cuda {
namespace {

/// Eight numbers side by side, which compilers keep in the widest available registers.
using Lanes = double __attribute__((vector_size(64)));
/// A row of a panel.
constexpr Index kParts = 4;
constexpr Index kWidth = kParts * 8;
struct alignas(64) PanelRow {
  Lanes parts[kParts];
};

double sum_of(const Lanes& x) {
  return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

/// Y = W_m X or W_m^T X.
void multiply(const ChordShape& shape,
              Index m,
              const double* values,
              const PanelRow* x,
              PanelRow* y,
              bool transposed) {
  const Index n = shape.order;
  const auto& offsets = shape.offsets[m];
  for (Index i = 0; i < n; ++i) {
    Lanes sums[kParts] = {};
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index to = transposed ? i - offsets[k] : i + offsets[k];
      Index j = to < 0 ? to + n : to;
      if (j >= n) j -= n;
      const double w = values[static_cast<Index>(k) * n + (transposed ? j : i)];
      for (Index p = 0; p < kParts; ++p) sums[p] += w * x[j].parts[p];
    }
    for (Index p = 0; p < kParts; ++p) y[i].parts[p] = sums[p];
  }
}

/// gradient of W_m += that of <G, W_m X>.
void add_gradient(
    const ChordShape& shape, Index m, const PanelRow* g, const PanelRow* x, double* gradient) {
  const Index n = shape.order;
  const auto& offsets = shape.offsets[m];
  for (Index i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      const Index to = i + offsets[k];
      const PanelRow& b = x[to < n ? to : to - n];
      Lanes sum = g[i].parts[0] * b.parts[0];
      for (Index p = 1; p < kParts; ++p) sum += g[i].parts[p] * b.parts[p];
      gradient[static_cast<Index>(k) * n + i] += sum_of(sum);
    }
  }
}

/// Partial sums of one thread.
struct Share {
  double f = 0;
  std::vector<double> gradient;
  std::vector<PanelRow> panels;  ///< M + 1 panels
};

void add_panel(const ChordShape& shape,
               const std::vector<double>& values,
               const std::vector<double>& X,
               Index first,
               Share& share) {
  const Index n = shape.order;
  const Index factors = shape.factors();
  const auto panel = [&](Index m) { return share.panels.data() + m * n; };
  const Index count = n - first < kWidth ? n - first : kWidth;
  std::fill_n(panel(factors), n, PanelRow{});
  for (Index c = 0; c < count; ++c) panel(factors)[first + c].parts[c / 8][c % 8] = 1;
  for (Index m = factors - 1; m >= 0; --m)
    multiply(shape, m, values.data() + shape.first_value(m), panel(m + 1), panel(m), false);
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < count; ++c) {
      Lanes& part = panel(0)[i].parts[c / 8];
      part[c % 8] -= X[i * n + first + c];
      share.f += part[c % 8] * part[c % 8] / 2;
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
  std::vector<Share> shares(threads);
  std::vector<std::thread> workers;
  workers.reserve(shares.size());
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      Share& share = shares[t];
      share.gradient.assign(values.size(), 0);
      share.panels.resize((shape.factors() + 1) * shape.order);
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
