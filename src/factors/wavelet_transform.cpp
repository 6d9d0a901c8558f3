#include "factors/wavelet_transform.hpp"

#include <algorithm>
#include <vector>

#include "matapprox/core/memory.hpp"

namespace matapprox::wavelets {
namespace {

/// Coefficients of the four lifting steps, and the factor of the smooth coefficients, sqrt(2) / K:
/// that of the details is its inverse. [DS98], Section 7.4
constexpr double kFirstPredict = -1.586134342059924;
constexpr double kFirstUpdate = -0.052980118572961;
constexpr double kSecondPredict = 0.882911075530934;
constexpr double kSecondUpdate = 0.443506852043971;
constexpr double kSmoothScale = 1.149604398860241;

/// Number of columns or rows that are transformed together.
constexpr Index kWidth = 32;
constexpr Index kEven = 0;
constexpr Index kOdd = 1;

/// n items of `width` numbers each, one item after another.
struct Items {
  double* data;
  Index count;
  Index width;
  double* at(Index i) const { return data + i * width; }
  Index before(Index i) const { return i > 0 ? i - 1 : 1; }
  Index after(Index i) const { return i + 1 < count ? i + 1 : count - 2; }
};

/// Adds a times both neighbors to each item of one parity.
void lift(const Items& x, Index parity, double a) {
  for (Index i = parity; i < x.count; i += 2) {
    const double* before = x.at(x.before(i));
    const double* after = x.at(x.after(i));
    double* to = x.at(i);
    for (Index k = 0; k < x.width; ++k) to[k] += a * (before[k] + after[k]);
  }
}

/// The transposed map of lift.
void lift_transposed(const Items& x, Index parity, double a) {
  for (Index i = parity; i < x.count; i += 2) {
    double* before = x.at(x.before(i));
    double* after = x.at(x.after(i));
    const double* from = x.at(i);
    for (Index k = 0; k < x.width; ++k) {
      before[k] += a * from[k];
      after[k] += a * from[k];
    }
  }
}

void scale(const Items& x, Index parity, double factor) {
  for (Index i = parity; i < x.count; i += 2) {
    for (Index k = 0; k < x.width; ++k) x.at(i)[k] *= factor;
  }
}

void transform_items(const Items& x, Direction direction) {
  switch (direction) {
    case Direction::kAnalyze:
      lift(x, kOdd, kFirstPredict);
      lift(x, kEven, kFirstUpdate);
      lift(x, kOdd, kSecondPredict);
      lift(x, kEven, kSecondUpdate);
      scale(x, kEven, kSmoothScale);
      scale(x, kOdd, 1 / kSmoothScale);
      break;
    case Direction::kSynthesize:
      scale(x, kEven, 1 / kSmoothScale);
      scale(x, kOdd, kSmoothScale);
      lift(x, kEven, -kSecondUpdate);
      lift(x, kOdd, -kSecondPredict);
      lift(x, kEven, -kFirstUpdate);
      lift(x, kOdd, -kFirstPredict);
      break;
    case Direction::kSynthesizeTransposed:
      lift_transposed(x, kOdd, -kFirstPredict);
      lift_transposed(x, kEven, -kFirstUpdate);
      lift_transposed(x, kOdd, -kSecondPredict);
      lift_transposed(x, kEven, -kSecondUpdate);
      scale(x, kEven, 1 / kSmoothScale);
      scale(x, kOdd, kSmoothScale);
      break;
  }
}

/// The place, among all coefficients, of the i-th item: the smooth ones come first.
Index coefficient_of(Index i, Index count) {
  return i % 2 == 0 ? i / 2 : smooth_count(count) + i / 2;
}

}  // namespace

void transform(Block X, Axis axis, Direction direction) {
  const bool along_columns = axis == Axis::kColumns;
  const Index count = along_columns ? X.rows() : X.cols();
  const Index vectors = along_columns ? X.cols() : X.rows();
  parallel_for((vectors + kWidth - 1) / kWidth, [&](Index chunk) {
    const Index first = chunk * kWidth;
    const Index width = std::min(kWidth, vectors - first);
    std::vector<double> memory(static_cast<std::size_t>(count * width));
    const Items items{memory.data(), count, width};
    const auto copy = [&](bool to_items, const auto& place) {
      for (Index i = 0; i < count; ++i) {
        const Index p = place(i);
        double* item = items.at(i);
        for (Index k = 0; k < width; ++k) {
          double& number = along_columns ? X(p, first + k) : X(first + k, p);
          (to_items ? item[k] : number) = to_items ? number : item[k];
        }
      }
    };
    const auto as_values = [](Index i) { return i; };
    const auto as_coefficients = [&](Index i) { return coefficient_of(i, count); };
    if (direction == Direction::kSynthesize) {
      copy(true, as_coefficients);
      transform_items(items, direction);
      copy(false, as_values);
    } else {
      copy(true, as_values);
      transform_items(items, direction);
      copy(false, as_coefficients);
    }
  });
}

}  // namespace matapprox::wavelets
