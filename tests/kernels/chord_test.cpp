#include "matapprox/kernels/chord.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "matapprox/core/error.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/thread_count.hpp"

namespace matapprox::kernels {
namespace {

using test::kEps;

/// Three factors with 2, 4 and 1 links (fewer if the order is too small), negative distances among
/// them.
ChordPattern unequal_pattern(Index n) {
  ChordPattern pattern{n, {{0}, {0}, {n - 1}}};
  const auto add = [&](std::size_t m, Index offset) {
    auto& offsets = pattern.offsets[m];
    if (std::find(offsets.begin(), offsets.end(), offset % n) == offsets.end()) {
      offsets.push_back(offset % n);
    }
  };
  add(0, n / 2 + 1);
  for (const Index offset : {n - 1, n / 3 + 1, Index{1}}) add(1, offset);
  pattern.validate();
  return pattern;
}

Vector random_values(const ChordPattern& pattern) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Vector values(pattern.stored_numbers());
  for (double& v : values) v = 0.3 + 0.5 * uniform(generator);
  return values;
}

Matrix dense_factor(const ChordPattern& pattern, const Vector& values, Index m) {
  const Index n = pattern.order;
  const Index links = pattern.links(m);
  Matrix W = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < links; ++k) {
      const Index j =
          (i + pattern.offsets[static_cast<std::size_t>(m)][static_cast<std::size_t>(k)]) % n;
      W(i, j) += values[pattern.first_value(m) + i * links + k];
    }
  }
  return W;
}

/// W_first ... W_last-1.
Matrix dense_product(const ChordPattern& pattern, const Vector& values, Index first, Index last) {
  Matrix P = Matrix::Identity(pattern.order, pattern.order);
  for (Index m = first; m < last; ++m) P = P * dense_factor(pattern, values, m);
  return P;
}

TargetPanel panels_of(const Matrix& X) {
  return [&X](Index first, Index count, double* panel) {
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index c = 0; c < count; ++c) panel[i * count + c] = X(i, first + c);
    }
  };
}

/// The dense formula: entry (i, j) of the derivative with respect to W_m is that of
/// (W_1...W_m-1)^T R (W_m+1...W_M)^T, R the residual.
Vector dense_gradient(const ChordPattern& pattern, const Vector& values, const Matrix& R) {
  const Index n = pattern.order;
  Vector gradient(values.size());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Matrix D = dense_product(pattern, values, 0, m).transpose() * R *
                     dense_product(pattern, values, m + 1, pattern.factors()).transpose();
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < pattern.links(m); ++k) {
        const Index offset =
            pattern.offsets[static_cast<std::size_t>(m)][static_cast<std::size_t>(k)];
        gradient[pattern.first_value(m) + i * pattern.links(m) + k] = D(i, (i + offset) % n);
      }
    }
  }
  return gradient;
}

/// `count` columns in no order; beyond n columns the list repeats.
std::vector<Index> some_columns(Index n, Index count) {
  std::vector<Index> J;
  for (Index c = 0; c < count; ++c) J.push_back((7 * c * c + 5 * c + n / 2) % n);
  return J;
}

std::vector<ChordPattern> patterns(Index n) {
  ChordPattern many_links{n, {{0}, {}}};
  for (Index k = 0; k < std::min<Index>(n, 70); ++k) many_links.offsets[1].push_back(n - 1 - k);
  many_links.offsets.push_back({n - 1});
  return {chord_reference_pattern(n),
          chord_paper_pattern(n),
          chord_alternating_pattern(n),
          chord_mixed_radix_pattern(n, chord_reference_pattern(n).stored_numbers() / n),
          unequal_pattern(n),
          many_links};
}

/// Checks single precision against the dense formula in double, on the same numbers. The bound is
/// (2 M K + N) eps times the formula on absolute values: every entry is a nested sum of that many
/// products.
void expect_float_objective_close(const ChordPattern& pattern, const Matrix& X) {
  const Index n = pattern.order;
  const Vector values = random_values(pattern).cast<float>().cast<double>();
  const Matrix target = X.cast<float>().cast<double>();
  const Matrix R = dense_product(pattern, values, 0, pattern.factors()) - target;
  const Matrix R_max =
      dense_product(pattern, values.cwiseAbs(), 0, pattern.factors()) + target.cwiseAbs();
  Index depth = n;
  for (const auto& offsets : pattern.offsets) depth += 2 * static_cast<Index>(offsets.size());
  const double tolerance = std::numeric_limits<float>::epsilon() * static_cast<double>(depth);

  const Eigen::VectorXf rounded = values.cast<float>();
  Eigen::VectorXf gradient = Eigen::VectorXf::Constant(values.size(), 5.0F);
  const double f = chord_objective(
      pattern,
      rounded.data(),
      [&](Index first, Index count, float* panel) {
        for (Index i = 0; i < n; ++i) {
          for (Index c = 0; c < count; ++c) {
            panel[i * count + c] = static_cast<float>(target(i, first + c));
          }
        }
      },
      gradient.data());
  EXPECT_NEAR(f, 0.5 * R.squaredNorm(), tolerance * R_max.squaredNorm());
  EXPECT_LE((gradient.cast<double>() - dense_gradient(pattern, values, R)).norm(),
            tolerance * dense_gradient(pattern, values.cwiseAbs(), R_max).norm());
}

/// Jacobian of the product's entries by its values: the column of entry (i, k) of W_m is
/// L[:, i] T[j, :], L = W_1...W_m-1 and T = W_m+1...W_M, j the column of that entry.
Matrix dense_jacobian(const ChordPattern& pattern, const Vector& values) {
  const Index n = pattern.order;
  Matrix J(n * n, values.size());
  Index p = 0;
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Matrix L = dense_product(pattern, values, 0, m);
    const Matrix T = dense_product(pattern, values, m + 1, pattern.factors());
    for (Index i = 0; i < n; ++i) {
      for (const Index offset : pattern.offsets[static_cast<std::size_t>(m)]) {
        const Matrix change = L.col(i) * T.row((i + offset) % n);
        J.col(p++) = change.reshaped();
      }
    }
  }
  return J;
}

class ChordOrder : public ::testing::TestWithParam<int> {};

TEST_P(ChordOrder, ProductsAgreeWithDenseOnes) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix Z = dense_product(pattern, values, 0, pattern.factors());
    const double tolerance = 16.0 * kEps * static_cast<double>(n) * (1.0 + Z.cwiseAbs().sum());
    for (const Index b : {0, 1, 2, 3, 5, 8, 31, 37, 70}) {
      const Matrix X = test::random_block<Matrix>(n, b, 1);
      Matrix Y = Matrix::Constant(n, b, 9.0);
      chord_apply(pattern, values.data(), X, Y);
      EXPECT_LE((Y - Z * X).norm(), tolerance) << "columns " << b;
      chord_apply_transpose(pattern, values.data(), X, Y);
      EXPECT_LE((Y - Z.transpose() * X).norm(), tolerance) << "transposed, columns " << b;
    }
  }
}

TEST_P(ChordOrder, ObjectiveAndGradientAgreeWithTheDenseFormula) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix X = test::random_block<Matrix>(n, n, 2);
    Vector gradient = Vector::Constant(values.size(), 5.0);
    const double value = chord_objective(pattern, values.data(), panels_of(X), gradient.data());
    const Matrix R = dense_product(pattern, values, 0, pattern.factors()) - X;
    const double expected = 0.5 * R.squaredNorm();
    const Vector dense = dense_gradient(pattern, values, R);
    const double tolerance = 8.0 * kEps * static_cast<double>(n);
    EXPECT_NEAR(value, expected, tolerance * expected);
    EXPECT_LE((gradient - dense).norm(), tolerance * (1.0 + dense.norm()));
    EXPECT_EQ(chord_objective(pattern, values.data(), panels_of(X), nullptr), value);
  }
}

/// Restricting the sum to a list of columns drops the other columns of the residual.
TEST_P(ChordOrder, ObjectiveOverListedColumnsAgreesWithTheDenseFormula) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix Z = dense_product(pattern, values, 0, pattern.factors());
    for (const Index count : {1, 3, 8, 17, 70}) {
      const std::vector<Index> J = some_columns(n, count);
      const Matrix X = test::random_block<Matrix>(n, count, 3);
      Matrix R = Matrix::Zero(n, n);
      for (Index c = 0; c < count; ++c) {
        const Index j = J[static_cast<std::size_t>(c)];
        R.col(j) += Z.col(j) - X.col(c);
      }
      double expected = 0;
      for (Index c = 0; c < count; ++c) {
        expected += 0.5 * (Z.col(J[static_cast<std::size_t>(c)]) - X.col(c)).squaredNorm();
      }
      const Vector dense = dense_gradient(pattern, values, R);
      Vector gradient = Vector::Constant(values.size(), 5.0);
      const double value =
          chord_objective(pattern, values.data(), J, panels_of(X), gradient.data());
      const double tolerance = 8.0 * kEps * static_cast<double>(n + count);
      EXPECT_NEAR(value, expected, tolerance * expected);
      EXPECT_LE((gradient - dense).norm(), tolerance * (1.0 + dense.norm())) << count;
      EXPECT_EQ(chord_objective(pattern, values.data(), J, panels_of(X), nullptr), value);
    }
  }
}

Matrix random_symmetric(Index n) {
  const Matrix X = test::random_block<Matrix>(n, n, 4);
  return (X + X.transpose()) / 2;
}

/// For Z = (P + P^T) / 2 the residual is symmetric, and the derivative along dP is <R, dP>.
TEST_P(ChordOrder, SymmetrizedObjectiveAgreesWithTheDenseFormula) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix X = random_symmetric(n);
    const Matrix P = dense_product(pattern, values, 0, pattern.factors());
    const Matrix R = (P + P.transpose()) / 2 - X;
    const Vector dense = dense_gradient(pattern, values, R);
    const double expected = 0.5 * R.squaredNorm();
    const double tolerance = 8.0 * kEps * static_cast<double>(n);
    Vector gradient = Vector::Constant(values.size(), 5.0);
    const double value = chord_objective(
        pattern, values.data(), panels_of(X), gradient.data(), ChordForm::kSymmetrized);
    EXPECT_NEAR(value, expected, tolerance * expected);
    EXPECT_LE((gradient - dense).norm(), tolerance * (1.0 + dense.norm()));
    EXPECT_EQ(
        chord_objective(pattern, values.data(), panels_of(X), nullptr, ChordForm::kSymmetrized),
        value);
  }
}

TEST_P(ChordOrder, SymmetrizedGradientAgreesWithCentralDifferences) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix X = random_symmetric(n);
    const auto f = [&](const Vector& at, double* gradient) {
      return chord_objective(pattern, at.data(), panels_of(X), gradient, ChordForm::kSymmetrized);
    };
    Vector gradient(values.size());
    f(values, gradient.data());
    const double h = 1e-5;
    const Index step = std::max<Index>(1, values.size() / 40);
    for (Index p = 0; p < values.size(); p += step) {
      Vector above = values;
      Vector below = values;
      above[p] += h;
      below[p] -= h;
      EXPECT_NEAR(gradient[p],
                  (f(above, nullptr) - f(below, nullptr)) / (2.0 * h),
                  1e-6 * (1.0 + gradient.cwiseAbs().maxCoeff()))
          << "entry " << p;
    }
  }
}

/// The values and gradients of single columns add up to those of all columns.
TEST_P(ChordOrder, SymmetrizedColumnsAddUpToTheWhole) {
  const Index n = GetParam();
  const ChordPattern pattern = chord_alternating_pattern(n);
  const Vector values = random_values(pattern);
  const Matrix X = random_symmetric(n);
  Vector whole(values.size());
  const double f =
      chord_objective(pattern, values.data(), panels_of(X), whole.data(), ChordForm::kSymmetrized);
  double sum = 0;
  Vector gradients = Vector::Zero(values.size());
  Vector gradient(values.size());
  for (Index c = 0; c < n; ++c) {
    const Matrix column = X.col(c);
    sum += chord_objective(pattern,
                           values.data(),
                           std::span(&c, 1),
                           panels_of(column),
                           gradient.data(),
                           ChordForm::kSymmetrized);
    gradients += gradient;
  }
  EXPECT_NEAR(sum, f, 1e-13 * f);
  EXPECT_LE((gradients - whole).norm(), 1e-13 * (1.0 + whole.norm()));
}

TEST_P(ChordOrder, ObjectiveOverNoColumnsIsZero) {
  const ChordPattern pattern = unequal_pattern(GetParam());
  const Vector values = random_values(pattern);
  Vector gradient = Vector::Constant(values.size(), 5.0);
  const Matrix none(GetParam(), 0);
  EXPECT_EQ(chord_objective(pattern, values.data(), {}, panels_of(none), gradient.data()), 0.0);
  EXPECT_EQ(gradient, Vector::Zero(values.size()));
}

TEST_P(ChordOrder, GradientAgreesWithCentralDifferences) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix X = test::random_block<Matrix>(n, n, 5);
    Vector gradient(values.size());
    chord_objective(pattern, values.data(), panels_of(X), gradient.data());
    const double h = 1e-5;
    const Index step = std::max<Index>(1, values.size() / 40);
    for (Index p = 0; p < values.size(); p += step) {
      Vector moved = values;
      moved[p] = values[p] + h;
      const double above = chord_objective(pattern, moved.data(), panels_of(X), nullptr);
      moved[p] = values[p] - h;
      const double below = chord_objective(pattern, moved.data(), panels_of(X), nullptr);
      EXPECT_NEAR(
          gradient[p], (above - below) / (2.0 * h), 1e-6 * (1.0 + gradient.cwiseAbs().maxCoeff()))
          << "entry " << p;
    }
  }
}

TEST_P(ChordOrder, GradientIsZeroAtAnExactProduct) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Matrix X = dense_product(pattern, values, 0, pattern.factors());
    Vector gradient(values.size());
    const double value = chord_objective(pattern, values.data(), panels_of(X), gradient.data());
    const double scale = 64.0 * kEps * X.norm() * static_cast<double>(n);
    EXPECT_LE(value, scale * scale);
    EXPECT_LE(gradient.norm(), scale * (1.0 + X.norm()));
  }
}

TEST_P(ChordOrder, FloatObjectiveAndGradientAgreeWithTheDenseFormula) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    expect_float_objective_close(pattern, test::random_block<Matrix>(n, n, 6));
  }
}

class ChordSmallOrder : public ::testing::TestWithParam<int> {};

TEST_P(ChordSmallOrder, GaussNewtonProductAgreesWithTheDenseJacobian) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const Vector direction = test::random_block<Vector>(values.size(), 7);
    Vector result = Vector::Constant(values.size(), 5.0);
    chord_gauss_newton_product(pattern, values.data(), direction.data(), result.data());
    const Matrix J = dense_jacobian(pattern, values);
    const Vector expected = J.transpose() * (J * direction);
    const double scale = J.squaredNorm() * direction.norm();
    // Sums along n paths through the chain, forward and backward.
    EXPECT_LE((result - expected).norm(), 2 * test::rounding(2 * n + values.size()) * scale);

    const Eigen::VectorXf rounded = values.cast<float>();
    const Eigen::VectorXf rounded_direction = direction.cast<float>();
    Eigen::VectorXf float_result(values.size());
    chord_gauss_newton_product(
        pattern, rounded.data(), rounded_direction.data(), float_result.data());
    EXPECT_LE((float_result.cast<double>() - expected).norm(),
              std::numeric_limits<float>::epsilon() * static_cast<double>(n) * scale);
  }
}

/// <u, J^T J v> = <J u, J v>, J u and J v by central differences of the product.
TEST_P(ChordOrder, GaussNewtonProductAgreesWithCentralDifferences) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : patterns(n)) {
    const Vector values = random_values(pattern);
    const double h = 1e-5;
    const auto moved = [&](const Vector& direction) -> Matrix {
      return (dense_product(pattern, values + h * direction, 0, pattern.factors()) -
              dense_product(pattern, values - h * direction, 0, pattern.factors())) /
             (2.0 * h);
    };
    const Vector u = test::random_block<Vector>(values.size(), 8);
    const Vector v = test::random_block<Vector>(values.size(), 9);
    Vector result(values.size());
    chord_gauss_newton_product(pattern, values.data(), v.data(), result.data());
    const Matrix Ju = moved(u);
    const Matrix Jv = moved(v);
    EXPECT_NEAR(u.dot(result), Ju.cwiseProduct(Jv).sum(), 1e-6 * Ju.norm() * Jv.norm());
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, ChordOrder, ::testing::Values(1, 2, 3, 5, 16, 37, 64, 100));

INSTANTIATE_TEST_SUITE_P(Orders, ChordSmallOrder, ::testing::Values(1, 2, 3, 5, 16, 37));

/// Entry (i, k) of the derivative with respect to W_m is <(L^T R)[i, :], (T E)[j, :]>, E the
/// selected unit columns. It is computed by products with parts of the chain, so that the order can
/// be large.
TEST(Chord, ObjectiveOverListedColumnsOfLargeOrdersAgreesWithTheFormula) {
  for (const Index n : {256, 1000}) {
    const ChordPattern pattern = chord_reference_pattern(n);
    const Vector values = random_values(pattern);
    const auto part = [&](Index first, Index last) {
      ChordFactors chain{{n, {}}, {}};
      for (Index m = first; m < last; ++m) {
        chain.pattern.offsets.push_back(pattern.offsets[static_cast<std::size_t>(m)]);
        const Index numbers = n * pattern.links(m);
        const auto begin = values.begin() + pattern.first_value(m);
        chain.values.insert(chain.values.end(), begin, begin + numbers);
      }
      return chain;
    };
    const Index count = 64;
    const std::vector<Index> J = some_columns(n, count);
    const Matrix X = test::random_block<Matrix>(n, count, 10);
    Matrix E = Matrix::Zero(n, count);
    for (Index c = 0; c < count; ++c) E(J[static_cast<std::size_t>(c)], c) = 1.0;
    const Matrix R = test::chord_times(part(0, pattern.factors()), false, E) - X;

    Vector expected(values.size());
    for (Index m = 0; m < pattern.factors(); ++m) {
      const Matrix G = test::chord_times(part(0, m), true, R);
      const Matrix T = test::chord_times(part(m + 1, pattern.factors()), false, E);
      Index p = pattern.first_value(m);
      for (Index i = 0; i < n; ++i) {
        for (const Index offset : pattern.offsets[static_cast<std::size_t>(m)]) {
          expected[p++] = G.row(i).dot(T.row((i + offset) % n));
        }
      }
    }
    Vector gradient(values.size());
    const double f = chord_objective(pattern, values.data(), J, panels_of(X), gradient.data());
    const double tolerance = 8.0 * kEps * static_cast<double>(n);
    EXPECT_NEAR(f, 0.5 * R.squaredNorm(), tolerance * f);
    EXPECT_LE((gradient - expected).norm(), tolerance * expected.norm()) << "order " << n;
  }
}

TEST(Chord, BitsDoNotDependOnTheNumberOfThreads) {
  for (const Index n : {37, 256, 300}) {
    const ChordPattern pattern = chord_reference_pattern(n);
    const Vector values = random_values(pattern);
    const Matrix X = test::random_block<Matrix>(n, n, 11);
    const auto evaluate = [&] {
      Vector result(values.size() + 1);
      result[0] = chord_objective(pattern, values.data(), panels_of(X), result.data() + 1);
      return result;
    };
    const test::ThreadCount one(1);
    const Vector expected = evaluate();
    for (const int count : {2, 3}) {
      const test::ThreadCount more(count);
      EXPECT_EQ(evaluate(), expected) << "order " << n << ", threads " << count;
    }
  }
}

/// The threads share rows if there are fewer panels than threads.
TEST(Chord, BitsOverFewColumnsDoNotDependOnTheNumberOfThreads) {
  const Index n = 2500;
  const ChordPattern pattern = unequal_pattern(n);
  const Vector values = random_values(pattern);
  for (const Index count : {5, 40}) {
    const std::vector<Index> J = some_columns(n, count);
    const Matrix X = test::random_block<Matrix>(n, count, 12);
    const auto evaluate = [&] {
      Vector result(values.size() + 1);
      result[0] = chord_objective(pattern, values.data(), J, panels_of(X), result.data() + 1);
      return result;
    };
    const test::ThreadCount one(1);
    const Vector expected = evaluate();
    for (const int threads : {2, 3}) {
      const test::ThreadCount more(threads);
      EXPECT_EQ(evaluate(), expected) << count << " columns, threads " << threads;
    }
  }
}

TEST(Chord, BitsOfGaussNewtonProductsDoNotDependOnTheNumberOfThreads) {
  const ChordPattern pattern = unequal_pattern(300);
  const Vector values = random_values(pattern);
  const Vector direction = test::random_block<Vector>(values.size(), 13);
  const auto evaluate = [&] {
    Vector result(values.size());
    chord_gauss_newton_product(pattern, values.data(), direction.data(), result.data());
    return result;
  };
  const test::ThreadCount one(1);
  const Vector expected = evaluate();
  for (const int count : {2, 3}) {
    const test::ThreadCount more(count);
    EXPECT_EQ(evaluate(), expected) << "threads " << count;
  }
}

TEST(Chord, BitsOfProductsDependNeitherOnThreadsNorOnColumnsBeside) {
  const Index n = 4099;  // large enough for threads to share one panel
  const ChordPattern pattern = unequal_pattern(n);
  const Vector values = random_values(pattern);
  const Matrix X = test::random_block<Matrix>(n, 40, 14);
  Matrix Y(n, 40);
  Matrix Yt(n, 40);
  const test::ThreadCount one(1);
  chord_apply(pattern, values.data(), X, Y);
  chord_apply_transpose(pattern, values.data(), X, Yt);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount more(count);
    for (const Index b : {1, 2, 3, 9, 40}) {
      Matrix Z(n, b);
      chord_apply(pattern, values.data(), X.rightCols(b), Z);
      EXPECT_EQ(Z, Y.rightCols(b)) << count << " threads, columns " << b;
      chord_apply_transpose(pattern, values.data(), X.rightCols(b), Z);
      EXPECT_EQ(Z, Yt.rightCols(b)) << count << " threads, columns " << b;
    }
  }
}

TEST(Chord, RefusesBlocksOfAnotherOrder) {
  const ChordPattern pattern = chord_reference_pattern(8);
  const Vector values = random_values(pattern);
  Matrix Y(8, 2);
  EXPECT_THROW(chord_apply(pattern, values.data(), Matrix::Zero(7, 2), Y), InvalidArgument);
  EXPECT_THROW(chord_apply_transpose(pattern, values.data(), Matrix::Zero(8, 3), Y),
               InvalidArgument);
}

}  // namespace
}  // namespace matapprox::kernels
