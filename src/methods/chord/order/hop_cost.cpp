#include "methods/chord/order/hop_cost.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <unsupported/Eigen/FFT>

namespace matapprox::chord_fit {
namespace {

constexpr double kUnreachable = 20;

/// Returns counts(d) after one more factor: the sum of counts((d - o) mod N) over its links o.
Vector one_factor_more(const Vector& counts, const std::vector<Index>& offsets) {
  const Index n = counts.size();
  Vector result = Vector::Zero(n);
  for (const Index o : offsets) {
    result.tail(n - o) += counts.head(n - o);
    result.head(o) += counts.tail(o);
  }
  return result;
}

/// Returns the sum over d of f(d + t) g(d) for t = 0 .. n-1, where f has 2 n numbers and g has n.
Vector correlation(const Vector& f, const Vector& g) {
  Index length = 1;
  while (length < f.size()) length *= 2;
  Vector padded_f = Vector::Zero(length);
  Vector padded_g = Vector::Zero(length);
  padded_f.head(f.size()) = f;
  padded_g.head(g.size()) = g;
  Eigen::FFT<double> fft;
  Eigen::VectorXcd transformed_f(length);
  Eigen::VectorXcd transformed_g(length);
  fft.fwd(transformed_f, padded_f);
  fft.fwd(transformed_g, padded_g);
  transformed_f.array() *= transformed_g.conjugate().array();
  fft.inv(padded_f, transformed_f);
  return padded_f.head(g.size());
}

}  // namespace

Vector hop_costs(const ChordPattern& pattern, bool symmetrized) {
  const Index n = pattern.order;
  Vector counts = Vector::Unit(n, 0);
  for (const auto& offsets : pattern.offsets) {
    counts = one_factor_more(counts, offsets);
    counts /= counts.maxCoeff();  // only ratios count, and sums over many factors would overflow
  }
  if (symmetrized) {
    Vector mirrored(n);
    for (Index d = 0; d < n; ++d) mirrored(d) = counts(d) + counts((n - d) % n);
    counts = mirrored;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const double count : counts) {
    if (count > 0) least = std::min(least, count);
  }
  const double most = counts.maxCoeff();
  const double range = most > least ? std::log(most / least) : 1.0;
  return counts.unaryExpr(
      [&](double count) { return count > 0 ? std::log(most / count) / range : kUnreachable; });
}

double hop_cost(const Entries& entries, const Ordering& ordering, const Vector& costs) {
  const std::vector<Index> rows = inverse_of(ordering.rows);
  const std::vector<Index> columns = inverse_of(ordering.columns);
  const auto n = costs.size();
  const auto place = [](const std::vector<Index>& places, Index node) {
    return places.empty() ? node : places[static_cast<std::size_t>(node)];
  };
  double sum = 0;
  for (Index i = 0; i < n; ++i) {
    for (SparseMatrix::InnerIterator entry(entries.sizes, i); entry; ++entry) {
      const Index d = place(columns, entry.col()) - place(rows, i);
      sum += entry.value() * costs(d < 0 ? d + n : d);
    }
  }
  return sum;
}

Index best_shift(const Vector& by_distance, const Vector& costs) {
  Vector twice(2 * by_distance.size());
  twice << by_distance, by_distance;
  const Vector sums = correlation(twice, costs);
  // Sums that differ only by rounding are equal.
  const double enough = sums.minCoeff() + 1e-9 * by_distance.sum();
  const auto best =
      std::find_if(sums.begin(), sums.end(), [&](double sum) { return sum <= enough; });
  return best == sums.end() ? 0 : best - sums.begin();  // no sum is found if one overflows
}

}  // namespace matapprox::chord_fit
