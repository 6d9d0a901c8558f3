#pragma once

#include <numeric>

#include "checker.hpp"
#include "device/cuda/kernel_factors.hpp"
#include "device/cuda/kernels/block_layout.hpp"
#include "device/cuda/kernels/kernel_tiles.hpp"
#include "device/cuda/kernels/multi_vector.hpp"
#include "device/cuda/kernels/random.hpp"
#include "device/cuda/tall_cholesky.hpp"

namespace matapprox::cuda {

/// Data of the kernel matrix in these checks, on the host; coordinate f of point i is coordinates[f
/// * count + i].
template <class T>
struct KernelExample {
  Index count = 0;
  int dimension = 0;
  std::vector<T> coordinates;
  KernelFormula<T> formula;

  double at(Index i, int f) const { return static_cast<double>(coordinates[f * count + i]); }
};

/// Entry (i, j) by its formula with bandwidth 0.8.
template <class T>
double kernel_entry(const KernelExample<T>& example, Index i, Index j) {
  const double h = 0.8;
  double squares = 0;
  double absolute = 0;
  double product = 0;
  double length_i = 0;
  double length_j = 0;
  for (int f = 0; f < example.dimension; ++f) {
    const double x = example.at(i, f);
    const double y = example.at(j, f);
    squares += (x - y) * (x - y);
    absolute += std::abs(x - y);
    product += x * y;
    length_i += x * x;
    length_j += y * y;
  }
  const double r = std::sqrt(squares);
  switch (example.formula.kind) {
    case KernelKind::kGaussian:
      return std::exp(-squares / (2 * h * h));
    case KernelKind::kLaplacian:
      return std::exp(-absolute / h);
    case KernelKind::kMatern32:
      return (1 + std::sqrt(3.0) * r / h) * std::exp(-std::sqrt(3.0) * r / h);
    case KernelKind::kMatern52:
      return (1 + std::sqrt(5.0) * r / h + 5 * squares / (3 * h * h)) *
             std::exp(-std::sqrt(5.0) * r / h);
    case KernelKind::kPolynomial:
      return std::pow(product / example.dimension + 0.5, 5);
    case KernelKind::kCosine:
      return length_i == 0 || length_j == 0 ? 0 : product / std::sqrt(length_i * length_j);
    case KernelKind::kLinear:
      break;
  }
  return product;
}

template <class T>
KernelFormula<T> kernel_formula(KernelKind kind, int dimension) {
  const double h = 0.8;
  const auto formula = [&](double scale) {
    return KernelFormula<T>{kind, static_cast<T>(scale), T(0.5), 5};
  };
  switch (kind) {
    case KernelKind::kGaussian:
      return formula(-0.5 / (h * h));
    case KernelKind::kLaplacian:
      return formula(-1 / h);
    case KernelKind::kMatern32:
      return formula(3 / (h * h));
    case KernelKind::kMatern52:
      return formula(5 / (h * h));
    case KernelKind::kPolynomial:
      return formula(1.0 / dimension);
    default:
      return formula(1);
  }
}

/// Random points. The first and the last are equal, and one is 0. For the cosine they have length
/// 1.
template <class T>
KernelExample<T> kernel_example(KernelKind kind, Index count, int dimension) {
  KernelExample<T> example{
      count, dimension, test_numbers<T>(count * dimension, 21), kernel_formula<T>(kind, dimension)};
  const auto entry = [&](Index i, int f) -> T& { return example.coordinates[f * count + i]; };
  for (int f = 0; f < dimension; ++f) {
    entry(count - 1, f) = entry(0, f);
    if (count > 2) entry(count / 2, f) = 0;
  }
  if (kind != KernelKind::kCosine) return example;
  for (Index i = 0; i < count; ++i) {
    double length = 0;
    for (int f = 0; f < dimension; ++f) length += example.at(i, f) * example.at(i, f);
    for (int f = 0; f < dimension && length > 0; ++f)
      entry(i, f) = static_cast<T>(example.at(i, f) / std::sqrt(length));
  }
  return example;
}

inline std::string kernel_name(KernelKind kind, Index count, int dimension, std::size_t bytes) {
  return text("kernel %d, %ld points in %d dimensions, %zu bits",
              static_cast<int>(kind),
              count,
              dimension,
              8 * bytes);
}

/// Checks columns against the formula; the diagonal must be exactly 1 where the formula gives 1.
template <class T, class Queue>
void check_kernel_columns(Checker<Queue>& check, const KernelExample<T>& example) {
  const Index n = example.count;
  std::vector<Index> J;
  for (Index j = 0; j<n; j += n> 100 ? 37 : 1) J.push_back(n - 1 - j);
  J.push_back(0);
  const auto count = static_cast<Index>(J.size());
  const auto coordinates = check.array(example.coordinates);
  const auto chosen = check.array(J);
  auto out = check.template zeros<T>(n * count);
  const KernelMatrix<T, Queue> K(
      check.queue(), {n, example.dimension, coordinates.data()}, example.formula);
  K.columns(chosen.data(), count, out.data());
  const auto got = check.numbers(out);
  std::vector<double> wanted;
  bool diagonal_is_exact = true;
  for (std::size_t c = 0; c < J.size(); ++c) {
    for (Index i = 0; i < n; ++i) wanted.push_back(kernel_entry(example, i, J[c]));
    const double own = kernel_entry(example, J[c], J[c]);
    const T got_own = got[c * static_cast<std::size_t>(n) + static_cast<std::size_t>(J[c])];
    const bool is_one = std::abs(own - 1) < 1e-6;
    const bool has_exact_diagonal = example.formula.kind != KernelKind::kPolynomial &&
                                    example.formula.kind != KernelKind::kLinear;
    if (is_one && has_exact_diagonal) diagonal_is_exact = diagonal_is_exact && got_own == T(1);
  }
  const std::string name =
      kernel_name(example.formula.kind, n, example.dimension, sizeof(T)) + ", columns";
  check.expect_close(got, wanted, kRounding<T>, name);
  check.expect(diagonal_is_exact, name + ": the diagonal is not exactly 1");

  const Index width = count + 3;
  const T unit = T(3);
  auto some = check.array(std::vector<T>(static_cast<std::size_t>(n * width), T(5)));
  K.panel(chosen.data(), count, width, unit, some.data());
  std::vector<double> row_major(n * width);
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < count; ++c) {
      row_major[i * width + c] = wanted[c * n + i] / static_cast<double>(unit);
    }
  }
  check.expect_rounded(some, row_major, name + " in a panel");
}

template <class T, class Queue>
void check_kernel_product(Checker<Queue>& check, const KernelExample<T>& example, Index columns) {
  const Index n = example.count;
  const auto X = test_numbers<T>(n * columns, 22);
  const auto coordinates = check.array(example.coordinates);
  const auto x = check.array(X);
  auto y = check.template zeros<T>(n * columns);
  const KernelMatrix<T, Queue> K(
      check.queue(), {n, example.dimension, coordinates.data()}, example.formula);
  K.multiply(x.data(), y.data(), columns);
  Dense entries;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) entries.push_back(kernel_entry(example, i, j));
  }
  check.expect_rounded(y,
                       dense_product(entries, Dense(X.begin(), X.end()), n, n, columns),
                       kernel_name(example.formula.kind, n, example.dimension, sizeof(T)) +
                           text(", product with %ld columns", columns));
}

/// Checks that the diagonal of K I is exactly 1, even where rounding would give less.
template <class T, class Queue>
void check_cosine_product(Checker<Queue>& check) {
  for (const int dimension : {2, 3, 5, 7}) {
    const auto example = kernel_example<T>(KernelKind::kCosine, 37, dimension);
    const auto coordinates = check.array(example.coordinates);
    const KernelMatrix<T, Queue> K(
        check.queue(), {37, dimension, coordinates.data()}, example.formula);
    std::vector<T> identity(37 * 37);
    for (std::size_t i = 0; i < 37; ++i) identity[i * 38] = 1;
    const auto x = check.array(identity);
    auto y = check.template zeros<T>(37 * 37);
    K.multiply(x.data(), y.data(), 37);
    const auto got = check.numbers(y);
    std::vector<T> diagonal;
    std::vector<T> wanted(37, T(1));
    wanted[37 / 2] = 0;  // the point that is 0
    for (std::size_t i = 0; i < 37; ++i) diagonal.push_back(got[i * 38]);
    check.expect_equal(
        diagonal, wanted, text("diagonal of the cosine in %d dimensions", dimension));
  }
}

/// Checks (x y - x^2)^20 with x = y = 1e15. In a tile that is not full, the missing points would
/// give x y = 0 and an infinite power, which must not enter the product.
template <class T, class Queue>
void check_kernel_overflow(Checker<Queue>& check) {
  const T x = T(1e15);
  const std::vector<T> points(3, x);
  const auto coordinates = check.array(points);
  const KernelMatrix<T, Queue> K(
      check.queue(), {3, 1, coordinates.data()}, {KernelKind::kPolynomial, T(1), -x * x, 20});
  const auto ones = check.array(std::vector<T>(3, T(1)));
  auto y = check.template zeros<T>(3);
  K.multiply(ones.data(), y.data(), 1);
  check.expect_equal(check.numbers(y.data(), 3),
                     std::vector<T>(3),
                     "a tile that is not full, with a large offset");
}

template <class T, class Queue>
void check_kernels(Checker<Queue>& check) {
  check_cosine_product<T>(check);
  check_kernel_overflow<T>(check);
  for (int k = 0; k <= static_cast<int>(KernelKind::kCosine); ++k) {
    const auto kind = static_cast<KernelKind>(k);
    for (const Index count : {1, 2, 3, 37, 131}) {
      for (const int dimension : {1, 3, 8, 19}) {
        const auto example = kernel_example<T>(kind, count, dimension);
        check_kernel_columns(check, example);
        for (const Index columns : {1, 3, 33}) check_kernel_product(check, example, columns);
      }
    }
  }
  check_kernel_product(check, kernel_example<T>(KernelKind::kGaussian, 1000, 8), 5);
  check_kernel_columns(check, kernel_example<T>(KernelKind::kMatern52, 1000, 2));
}

template <class T, class Queue>
void check_block_layout(Checker<Queue>& check) {
  for (const Index rows : {1, 2, 3, 37, 1000}) {
    for (const Index columns : {1, 3, 32, 45}) {
      const std::string name = text("%ld x %ld", rows, columns);
      const auto numbers = test_numbers<T>(rows * columns, 23);
      const auto from = check.array(numbers);
      auto to = check.template zeros<T>(rows * columns);
      check.queue().run(BlockTranspose<T>{from.data(), to.data(), rows, columns});
      const auto scales = test_numbers<T>(rows, 24);
      const auto factors = check.array(scales);
      auto scaled = check.template zeros<T>(rows * columns);
      check.queue().run(ScaleRows<T>{factors.data(), to.data(), scaled.data(), rows, columns});
      std::vector<T> transposed;
      std::vector<T> wanted;
      std::vector<T> means;
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
          const T number = numbers[j * rows + i];
          transposed.push_back(number);
          wanted.push_back(scales[i] * number);
          means.push_back((transposed.back() + wanted.back()) / 2);
        }
      }
      check.expect_equal(check.numbers(to), transposed, "transpose, " + name);
      check.expect_equal(check.numbers(scaled), wanted, "scaled, " + name);
      check.queue().run(Average<T>{scaled.data(), to.data(), rows * columns});
      check.expect_equal(check.numbers(to), means, "mean, " + name);
    }
  }
}

template <class T, class Queue>
void check_multi_vector(Checker<Queue>& check) {
  const std::vector<Index> S{2, 0, 2, 1};
  for (const Index rows : {3, 37, 1000}) {
    for (const Index columns : {1, 2, 17}) {
      const std::string name = text("%ld x %ld", rows, columns);
      const auto numbers = test_numbers<T>(rows * columns, 25);
      const auto from = check.array(numbers);
      const auto chosen = check.array(S);
      auto found = check.template zeros<T>(4 * columns);
      check.queue().run(GatherRows<T>{from.data(), chosen.data(), found.data(), rows, 4, columns});
      auto squares = check.template zeros<T>(rows);
      check.queue().run(RowSquares<T>{from.data(), squares.data(), rows, columns});
      std::vector<T> wanted;
      std::vector<double> sums(rows);
      for (Index c = 0; c < columns; ++c) {
        for (const Index i : S) wanted.push_back(numbers[c * rows + i]);
        for (Index i = 0; i < rows; ++i) {
          const auto value = static_cast<double>(numbers[c * rows + i]);
          sums[i] += value * value;
        }
      }
      check.expect_equal(check.numbers(found), wanted, "rows of " + name);
      check.expect_rounded(squares, sums, "squares of rows, " + name);
    }
  }
}

/// Checks one number and several numbers per thread, and non-finite numbers at several positions.
template <class Queue>
void check_largest(Checker<Queue>& check) {
  for (const Index count : {1, 37, 1000, 300000}) {
    auto numbers = test_numbers<double>(count, 26);
    const auto largest = [&] {
      const auto placed = check.array(numbers);
      LargestNumbers kernel{placed.data(), count};
      auto parts = check.queue().template array<double>(kernel.blocks());
      kernel.parts = parts.data();
      check.queue().run(kernel);
      double result = 0;
      for (const double part : check.numbers(parts)) result = LargestNumbers::larger(result, part);
      return result;
    };
    const std::string name = text("largest of %ld", count);
    for (const Index at : {Index{0}, count / 2, count - 1}) {
      double& number = numbers[at];
      number = -2;
      check.expect(largest() == 2, name);
      number = -std::numeric_limits<double>::infinity();
      check.expect(largest() == std::numeric_limits<double>::infinity(), name + ", infinite");
      number = std::numeric_limits<double>::quiet_NaN();
      check.expect(std::isnan(largest()), name + ", NaN");
      number = 0;
    }
  }
}

/// Checks the values of docs/random.md and, on a GPU, that the numbers equal the host's to the bit.
template <class Queue>
void check_normal_numbers(Checker<Queue>& check) {
  for (const Index first : {0, 5}) {
    for (const Index columns : {1, 2, 7}) {
      const Index rows = 1001;
      auto numbers = check.template zeros<double>(rows * columns);
      check.queue().run(NormalNumbers{1, 1, first, numbers.data(), rows, columns});
      const auto got = check.numbers(numbers);
      std::vector<double> wanted;
      for (Index j = first; j < first + columns; ++j) {
        for (Index i = 0; i < rows; ++i) {
          const NormalPair pair = normal_pair(1, 1, i, j / 2);
          wanted.push_back(j % 2 == 0 ? pair.even : pair.odd);
        }
      }
      const std::string name = text("%ld columns of normal numbers from %ld", columns, first);
      check.expect_equal(got, wanted, name);
      const double known = first == 0 ? 2.0056205499002466 : -1.3306178005989306;
      check.expect(got[first == 0 ? 0 : 2] == known, name + ": the check value");
    }
  }
}

/// L^-T of the Cholesky factor L of H, n x n: its columns are the unit vectors, orthonormalized one
/// after another with respect to H.
inline std::vector<double> inverse_factor(const std::vector<double>& H, std::size_t n) {
  std::vector<double> M(n * n);
  const auto inner = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t i = 0; i < n * n; ++i) sum += M[a * n + i / n] * H[i] * M[b * n + i % n];
    return sum;
  };
  for (std::size_t c = 0; c < n; ++c) {
    M[c * n + c] = 1;
    for (std::size_t l = 0; l < c; ++l) {
      const double overlap = inner(l, c);
      for (std::size_t i = 0; i < n; ++i) M[c * n + i] -= overlap * M[l * n + i];
    }
    const double length = std::sqrt(inner(c, c));
    for (std::size_t i = 0; i < n; ++i) M[c * n + i] /= length;
  }
  return M;
}

/// Checks a partial Cholesky factorization in rounds that keep some of the proposed columns: F F^T
/// equals K in the columns of all landmarks, and squares are those of the newest columns of F.
template <class Queue>
void check_tall_cholesky(Checker<Queue>& check) {
  constexpr Index n = 300;
  const auto example = kernel_example<double>(KernelKind::kGaussian, n, 8);
  const KernelFactor<Queue> kernel(check.queue(),
                                   {n, 8, example.coordinates.data(), example.formula});
  TallCholesky<Queue> tall(check.queue(), kernel, 8);
  const std::vector<Index> positions{0, 2, 3};
  std::vector<Index> landmarks;
  std::vector<double> squares(n);
  for (const auto& S : std::vector<std::vector<Index>>{{5, 250, 17, 120}, {8, 61, 100, 40}}) {
    const std::size_t before = landmarks.size();
    std::vector<double> own(16);
    std::vector<double> rows(4 * before);
    tall.propose(S, own.data());
    tall.factor_rows(S, rows.data());
    std::vector<double> F_T;
    for (std::size_t l = 0; l < before; ++l) {
      for (const std::size_t i : {0, 2, 3}) F_T.push_back(rows[l * 4 + i]);
    }
    std::vector<double> H;
    for (const std::size_t j : {0, 2, 3}) {
      for (const std::size_t i : {0, 2, 3}) {
        double left = own[j * 4 + i];
        for (std::size_t l = 0; l < before; ++l) left -= rows[l * 4 + i] * rows[l * 4 + j];
        H.push_back(left);
      }
      landmarks.push_back(S[j]);
    }
    tall.accept(positions, F_T.data(), inverse_factor(H, 3).data(), squares.data());
  }
  std::vector<Index> all(n);
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> F(n * landmarks.size());
  tall.factor_rows(all, F.data());
  std::vector<double> got;
  std::vector<double> wanted;
  std::vector<double> newest(n);
  for (const Index j : landmarks) {
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index l = 0; l < tall.kept(); ++l) sum += F[l * n + i] * F[l * n + j];
      got.push_back(sum);
      wanted.push_back(kernel_entry(example, i, j));
    }
  }
  for (Index i = 0; i < n; ++i) {
    for (Index l = tall.kept() - 3; l < tall.kept(); ++l) newest[i] += F[l * n + i] * F[l * n + i];
  }
  check.expect_close(got, wanted, 1e-10, "partial Cholesky, F F^T at the landmarks");
  check.expect_close(squares, newest, 1e-12, "partial Cholesky, squares");
  std::vector<double> columns(wanted.size());
  tall.download_columns(columns.data());
  check.expect_close(columns, wanted, 1e-12, "partial Cholesky, its columns");
}

template <class Queue>
void check_numbers(Checker<Queue>& check) {
  check_largest(check);
  check_normal_numbers(check);
  check_tall_cholesky(check);
}

}  // namespace matapprox::cuda
