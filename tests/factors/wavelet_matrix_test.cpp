#include "matapprox/factors/wavelet_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "factors/wavelet_coding.hpp"
#include "factors/wavelet_transform.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using wavelets::Axis;
using wavelets::Direction;
using wavelets::Integers;
using wavelets::Layout;

// ---- The transform

/// Synthesis of n values as a matrix, from the filters of CDF 9/7 as JPEG 2000 prints them (ISO
/// 15444-1, table F.4), with reflection at both ends: an independent reference without lifting.
Matrix synthesis_by_filters(Index n) {
  const std::vector<double> low = {-0.09127176311424948,
                                   -0.05754352622849957,
                                   0.5912717631142470,
                                   1.115087052456994,
                                   0.5912717631142470,
                                   -0.05754352622849957,
                                   -0.09127176311424948};
  const std::vector<double> high = {0.02674875741080976,
                                    0.01686411844287495,
                                    -0.07822326652898785,
                                    -0.2668641184428723,
                                    0.6029490182363579,
                                    -0.2668641184428723,
                                    -0.07822326652898785,
                                    0.01686411844287495,
                                    0.02674875741080976};
  const Index period = 2 * (n - 1);
  const auto reflected = [&](Index i) {
    const Index r = ((i % period) + period) % period;
    return r < n ? r : period - r;
  };
  Matrix S = Matrix::Zero(n, n);
  const auto add =
      [&](Index coefficient, Index center, const std::vector<double>& filter, double scale) {
        const auto reach = static_cast<Index>(filter.size() / 2);
        // The signal of reflected coefficients: a coefficient and its mirror images all contribute.
        for (Index image = center - 2 * period; image <= center + 2 * period; ++image) {
          if (reflected(image) != center || (image - center) % 2 != 0) continue;
          for (Index k = -reach; k <= reach; ++k) {
            const Index at = image + k;
            if (at >= 0 && at < n)
              S(at, coefficient) += scale * filter[static_cast<std::size_t>(k + reach)];
          }
        }
      };
  for (Index i = 0; i < n; ++i) {
    if (i % 2 == 0) {
      add(i / 2, i, low, 1 / std::sqrt(2.0));
    } else {
      add(wavelets::smooth_count(n) + i / 2, i, high, std::sqrt(2.0));
    }
  }
  return S;
}

TEST(WaveletTransform, IsThatOfThePrintedFilters) {
  for (const Index n : {2, 3, 4, 5, 8, 9, 16, 33, 70}) {
    const Matrix S = synthesis_by_filters(n);
    Matrix found = Matrix::Identity(n, n);
    wavelets::transform(found, Axis::kColumns, Direction::kSynthesize);
    EXPECT_CLOSE(found, S, 1e-12) << n;
    Matrix transposed = Matrix::Identity(n, n);
    wavelets::transform(transposed, Axis::kColumns, Direction::kSynthesizeTransposed);
    EXPECT_CLOSE(transposed, S.transpose(), 1e-12) << n;
    Matrix inverse = Matrix::Identity(n, n);
    wavelets::transform(inverse, Axis::kColumns, Direction::kAnalyze);
    EXPECT_CLOSE(inverse * S, Matrix::Identity(n, n), 1e-12) << n;
    Matrix rows = Matrix::Identity(n, n);
    wavelets::transform(rows, Axis::kRows, Direction::kSynthesize);
    EXPECT_CLOSE(rows, S.transpose(), 1e-12) << n;
    wavelets::transform(rows, Axis::kRows, Direction::kAnalyze);
    EXPECT_CLOSE(rows, Matrix::Identity(n, n), 1e-12) << n;
  }
}

// ---- The code

/// Coefficients of every size, mostly small.
Integers random_coefficients(Index rows, Index cols, double largest, int seed = 1) {
  const Matrix random = test::random_matrix(rows, cols, seed);
  Integers q(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) {
      const double x = random(i, j);
      q(i, j) = static_cast<std::int32_t>(
          std::copysign(std::min(std::floor(std::pow(std::abs(x), 3) *
                                            std::pow(largest, std::min(std::abs(x) / 4, 1.0))),
                                 1e9),
                        x));
    }
  }
  return q;
}

Integers decoded(const Layout& layout, const Integers& q) {
  std::vector<Index> lengths;
  std::vector<std::uint8_t> data;
  for (std::size_t k = 0; k < layout.streams.size(); ++k) {
    const auto bytes = wavelets::encode_stream(layout, k, q);
    lengths.push_back(static_cast<Index>(bytes.size()));
    data.insert(data.end(), bytes.begin(), bytes.end());
  }
  return wavelets::decode(layout, lengths, data);
}

TEST(WaveletCoding, RestoresEveryCoefficient) {
  struct Case {
    Index rows, cols, levels;
    double largest;
  };
  for (const Case& c : {Case{1, 1, 0, 1},
                        Case{1, 7, 0, 1e9},
                        Case{16, 16, 1, 4},
                        Case{33, 70, 2, 1e9},
                        Case{129, 31, 1, 100},
                        Case{700, 900, 5, 50},
                        Case{3, 200000, 0, 2},
                        Case{1100, 1300, 7, 3}}) {
    const Layout layout(c.rows, c.cols, c.levels, false);
    const Integers q = random_coefficients(c.rows, c.cols, c.largest);
    EXPECT_EQ(decoded(layout, q), q) << c.rows << " " << c.cols;
    EXPECT_TRUE((decoded(layout, 0 * q).array() == 0).all());
  }
  Integers extreme = Integers::Zero(20, 20);
  extreme(3, 4) = (1 << wavelets::kMaxBits) - 1;
  extreme(19, 0) = -extreme(3, 4);
  EXPECT_EQ(decoded(Layout(20, 20, 1, false), extreme), extreme);
}

TEST(WaveletCoding, StoresHalfOfASymmetricMatrix) {
  for (const auto& [n, levels] : {std::pair{1, 0}, {17, 1}, {300, 4}, {1200, 0}, {1200, 6}}) {
    Integers q = random_coefficients(n, n, 10);
    q.triangularView<Eigen::StrictlyUpper>() = q.transpose();
    const Layout whole(n, n, levels, false);
    const Layout half(n, n, levels, true);
    EXPECT_EQ(decoded(half, q), q) << n << " " << levels;
    std::size_t coded[2] = {0, 0};
    for (std::size_t k = 0; k < half.streams.size(); ++k)
      coded[0] += wavelets::encode_stream(half, k, q).size();
    for (std::size_t k = 0; k < whole.streams.size(); ++k)
      coded[1] += wavelets::encode_stream(whole, k, q).size();
    if (n >= 300) {
      EXPECT_LT(static_cast<double>(coded[0]), 0.52 * static_cast<double>(coded[1]));
    }
  }
}

/// Entries that are 0 with probability 1 - p and else +-1 have h(p) + p bits of entropy.
TEST(WaveletCoding, TakesAboutTheEntropyOfIndependentCoefficients) {
  const Index n = 512;
  const Matrix random = test::random_matrix(n, n, 5);
  for (const double threshold : {0.5, 1.5, 2.5}) {
    const Integers q =
        random.unaryExpr([&](double x) { return std::abs(x) > threshold ? (x > 0 ? 1 : -1) : 0; })
            .cast<std::int32_t>();
    const double p = static_cast<double>((q.array() != 0).count()) / static_cast<double>(n * n);
    const double entropy = -p * std::log2(p) - (1 - p) * std::log2(1 - p) + p;
    const double bits =
        8.0 * static_cast<double>(wavelets::encode_stream(Layout(n, n, 0, false), 0, q).size());
    EXPECT_GE(bits, 0.99 * entropy * n * n) << threshold;
    // Averages over 32 and 128 decisions are off by the noise of as many: about 1 / (2 k ln 2) bits
    // more for each coefficient, if k is between the two.
    EXPECT_LE(bits, (entropy + 0.008) * n * n) << threshold;
  }
}

TEST(WaveletCoding, RefusesDamagedStreams) {
  const Layout layout(16, 16, 1, false);
  const std::vector<std::uint8_t> zeros(100, 0);  // every decision is yes
  EXPECT_THROW(wavelets::decode(layout, std::vector<Index>{100}, zeros), InvalidArgument);
  EXPECT_THROW(wavelets::decode(layout, std::vector<Index>{99}, zeros), InvalidArgument);
  EXPECT_THROW(wavelets::decode(layout, std::vector<Index>{}, zeros), InvalidArgument);
  EXPECT_THROW(Layout(16, 16, 2, false), InvalidArgument);
  EXPECT_THROW(Layout(16, 17, 1, true), InvalidArgument);
}

// ---- The factor

WaveletMatrix::Content content_of(const Integers& q, Index levels, bool symmetric, double step) {
  const Layout layout(q.rows(), q.cols(), levels, symmetric);
  WaveletMatrix::Content content{
      q.rows(), q.cols(), symmetric, levels, step, {40, -20, 5}, 0, {}, {}};
  content.nonzeros = (q.array() != 0).count();
  for (std::size_t k = 0; k < layout.streams.size(); ++k) {
    const auto bytes = wavelets::encode_stream(layout, k, q);
    content.lengths.push_back(static_cast<Index>(bytes.size()));
    content.data.insert(content.data.end(), bytes.begin(), bytes.end());
  }
  return content;
}

/// S_m C S_n^T by dense matrices, level by level, by the printed filters.
Matrix dense_reference(const Integers& q, Index levels, double step) {
  Matrix C = q.unaryExpr([&](std::int32_t k) {
                const int size = std::abs(k);
                const double shift = size == 1 ? 40 : size == 2 ? -20 : 5;
                return k == 0 ? 0.0 : std::copysign(step * (size + shift / 256), 1.0 * k);
              }).cast<double>();
  const Layout layout(q.rows(), q.cols(), levels, false);
  for (auto l = static_cast<std::size_t>(levels); l-- > 0;) {
    auto part = C.topLeftCorner(layout.heights[l], layout.widths[l]);
    part =
        (synthesis_by_filters(part.rows()) * part * synthesis_by_filters(part.cols()).transpose())
            .eval();
  }
  return C;
}

TEST(WaveletMatrix, IsTheSynthesisOfItsCoefficients) {
  struct Case {
    Index rows, cols, levels;
    double largest;
  };
  // Few coefficients are not zero if `largest` is small, and bands are then lists.
  for (const Case& c : {Case{1, 1, 0, 1e4},
                        Case{5, 3, 0, 1e4},
                        Case{16, 16, 1, 1e4},
                        Case{37, 70, 2, 1e4},
                        Case{37, 70, 2, 0.3},
                        Case{130, 33, 2, 0.3}}) {
    const Integers q = random_coefficients(c.rows, c.cols, c.largest);
    const Matrix A = dense_reference(q, c.levels, 0.125);
    const WaveletMatrix W(content_of(q, c.levels, false, 0.125));
    EXPECT_EQ(W.storage().numbers, (q.array() != 0).count());
    const FactorProduct product({make_factor("W", W)});
    EXPECT_CLOSE(product.columns_at(index_range(0, A.cols())), A, 1e-11);
    const FactorProduct mirrored({make_factor("W", W, true)});
    EXPECT_CLOSE(mirrored.columns_at(index_range(0, A.rows())), A.transpose(), 1e-11);
    for (const Index columns : {1, 64}) {
      const Matrix X = test::random_matrix(A.cols(), columns, 3);
      const Matrix Y = test::random_matrix(A.rows(), columns, 4);
      EXPECT_CLOSE(W.apply(X), A * X, 1e-11);
      EXPECT_CLOSE(W.apply_transpose(Y), A.transpose() * Y, 1e-11);
    }
    EXPECT_CLOSE(W.multiplied(3).apply(Matrix::Identity(A.cols(), A.cols())), 8 * A, 1e-11);
  }
}

TEST(WaveletMatrix, IsSymmetricIfItsContentIs) {
  Integers q = random_coefficients(70, 70, 10);
  q.triangularView<Eigen::StrictlyUpper>() = q.transpose();
  const WaveletMatrix W(content_of(q, 3, true, 1));
  const Matrix A = W.apply(Matrix::Identity(70, 70));
  EXPECT_CLOSE(A, dense_reference(q, 3, 1), 1e-11);
  EXPECT_CLOSE(A, A.transpose(), 1e-14);
}

TEST(WaveletMatrix, SameBitsForAnyNumberOfThreadsAndColumns) {
  // Matrices, and a list of many entries, which are multiplied in parts.
  for (const Integers& q : {random_coefficients(150, 90, 10), random_coefficients(900, 700, 0.3)}) {
    const WaveletMatrix W(content_of(q, 3, false, 1));
    const Matrix X = test::random_matrix(W.cols(), 70, 2);
    const Matrix Y = test::random_matrix(W.rows(), 70, 2);
    const Matrix all = W.apply(X);
    const Matrix all_transposed = W.apply_transpose(Y);
    for (const int count : {1, 2, 3}) {
      const test::ThreadCount threads(count);
      EXPECT_EQ(W.apply(X), all);
      EXPECT_EQ(W.apply(X.middleCols(41, 1)), all.middleCols(41, 1));
      EXPECT_EQ(W.apply(X.middleCols(3, 12)), all.middleCols(3, 12));
      EXPECT_EQ(W.apply_transpose(Y), all_transposed);
      EXPECT_EQ(W.apply_transpose(Y.middleCols(41, 1)), all_transposed.middleCols(41, 1));
    }
  }
}

TEST(WaveletMatrix, OfManyEntriesIsTheSynthesisToo) {
  const Integers q = random_coefficients(600, 500, 0.3);
  const Matrix A = dense_reference(q, 4, 0.125);
  const WaveletMatrix W(content_of(q, 4, false, 0.125));
  ASSERT_GT(W.storage().numbers, 30000);
  const Matrix X = test::random_matrix(500, 9, 3);
  const Matrix Y = test::random_matrix(600, 9, 4);
  EXPECT_CLOSE(W.apply(X), A * X, 1e-11);
  EXPECT_CLOSE(W.apply_transpose(Y), A.transpose() * Y, 1e-11);
}

TEST(WaveletMatrix, RefusesWrongContent) {
  const WaveletMatrix::Content content = content_of(random_coefficients(20, 30, 10), 1, false, 1);
  EXPECT_NO_THROW(WaveletMatrix{content});
  const auto refused = [&](auto change) {
    WaveletMatrix::Content changed = content;
    change(changed);
    EXPECT_THROW(WaveletMatrix(std::move(changed)), InvalidArgument);
  };
  refused([](auto& c) { c.step = 0; });
  refused([](auto& c) { c.step = -1; });
  refused([](auto& c) { c.step = 1e308; });
  refused([](auto& c) { ++c.nonzeros; });
  refused([](auto& c) { c.step = std::nan(""); });
  refused([](auto& c) { c.symmetric = true; });
  refused([](auto& c) { c.levels = 2; });
  refused([](auto& c) { c.rows = 0; });
  refused([](auto& c) { c.rows = Index{1} << 62; });
  refused([](auto& c) { c.cols = 1 << 30; });
  refused([](auto& c) { c.lengths.front() += 1; });
  refused([](auto& c) { c.data.pop_back(); });
  EXPECT_THROW(WaveletMatrix(content).apply(Matrix::Ones(29, 1)), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
