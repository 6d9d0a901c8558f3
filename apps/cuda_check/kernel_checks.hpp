#pragma once

#include "checker.hpp"
#include "device/cuda/kernels/block_layout.hpp"
#include "device/cuda/kernels/kernel_tiles.hpp"
#include "device/cuda/kernels/multi_vector.hpp"
#include "device/cuda/kernels/normal.hpp"

namespace matapprox::cuda {

/// Data of the kernel matrix in these checks, on the host; coordinate f of point i is coordinates[f
/// * count + i].
template <class T>
struct KernelExample {
  Index count = 0;
  int dimension = 0;
  std::vector<T> coordinates;
  KernelFormula<T> formula;

  double at(Index i, int f) const {
    return static_cast<double>(coordinates[static_cast<std::size_t>(f * count + i)]);
  }
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
  const auto entry = [&](Index i, int f) -> T& {
    return example.coordinates[static_cast<std::size_t>(f * count + i)];
  };
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
  return "kernel " + std::to_string(static_cast<int>(kind)) + ", " + std::to_string(count) +
         " points in " + std::to_string(dimension) + " dimensions, " + std::to_string(8 * bytes) +
         " bits";
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
  const auto got = check.numbers(out.data(), out.size());
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
  std::vector<double> row_major(static_cast<std::size_t>(n * width));
  for (Index i = 0; i < n; ++i) {
    for (Index c = 0; c < count; ++c) {
      row_major[static_cast<std::size_t>(i * width + c)] =
          wanted[static_cast<std::size_t>(c * n + i)] / static_cast<double>(unit);
    }
  }
  check.expect_close(
      check.numbers(some.data(), some.size()), row_major, kRounding<T>, name + " in a panel");
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
  std::vector<double> wanted(static_cast<std::size_t>(n * columns));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const double entry = kernel_entry(example, i, j);
      for (Index c = 0; c < columns; ++c) {
        wanted[static_cast<std::size_t>(i * columns + c)] +=
            entry * static_cast<double>(X[static_cast<std::size_t>(j * columns + c)]);
      }
    }
  }
  check.expect_close(check.numbers(y.data(), y.size()),
                     wanted,
                     kRounding<T>,
                     kernel_name(example.formula.kind, n, example.dimension, sizeof(T)) +
                         ", product with " + std::to_string(columns) + " columns");
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
    const auto got = check.numbers(y.data(), y.size());
    std::vector<T> diagonal;
    std::vector<T> wanted(37, T(1));
    wanted[37 / 2] = 0;  // the point that is 0
    for (std::size_t i = 0; i < 37; ++i) diagonal.push_back(got[i * 38]);
    check.expect_equal(
        diagonal, wanted, "diagonal of the cosine in " + std::to_string(dimension) + " dimensions");
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
void check_kernels_of(Checker<Queue>& check) {
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
void check_block_layout_of(Checker<Queue>& check) {
  for (const Index rows : {1, 2, 3, 37, 1000}) {
    for (const Index columns : {1, 3, 32, 45}) {
      const std::string name = std::to_string(rows) + " x " + std::to_string(columns);
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
          const T number = numbers[static_cast<std::size_t>(j * rows + i)];
          transposed.push_back(number);
          wanted.push_back(scales[static_cast<std::size_t>(i)] * number);
          means.push_back((transposed.back() + wanted.back()) / 2);
        }
      }
      check.expect_equal(check.numbers(to.data(), to.size()), transposed, "transpose, " + name);
      check.expect_equal(check.numbers(scaled.data(), scaled.size()), wanted, "scaled, " + name);
      check.queue().run(Average<T>{scaled.data(), to.data(), rows * columns});
      check.expect_equal(check.numbers(to.data(), to.size()), means, "mean, " + name);
    }
  }
}

template <class T, class Queue>
void check_multi_vector_of(Checker<Queue>& check) {
  const std::vector<Index> S{2, 0, 2, 1};
  for (const Index rows : {3, 37, 1000}) {
    for (const Index columns : {1, 2, 17}) {
      const std::string name = std::to_string(rows) + " x " + std::to_string(columns);
      const auto numbers = test_numbers<T>(rows * columns, 25);
      const auto from = check.array(numbers);
      const auto chosen = check.array(S);
      auto found = check.template zeros<T>(4 * columns);
      check.queue().run(GatherRows<T>{from.data(), chosen.data(), found.data(), rows, 4, columns});
      auto squares = check.template zeros<T>(rows);
      check.queue().run(RowSquares<T>{from.data(), squares.data(), rows, columns});
      std::vector<T> wanted;
      std::vector<double> sums(static_cast<std::size_t>(rows));
      for (Index c = 0; c < columns; ++c) {
        for (const Index i : S) wanted.push_back(numbers[static_cast<std::size_t>(c * rows + i)]);
        for (Index i = 0; i < rows; ++i) {
          const auto value = static_cast<double>(numbers[static_cast<std::size_t>(c * rows + i)]);
          sums[static_cast<std::size_t>(i)] += value * value;
        }
      }
      check.expect_equal(check.numbers(found.data(), found.size()), wanted, "rows of " + name);
      check.expect_close(
          check.numbers(squares.data(), rows), sums, kRounding<T>, "squares of rows, " + name);
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
      for (const double part : check.numbers(parts.data(), parts.size()))
        result = LargestNumbers::larger(result, part);
      return result;
    };
    const std::string name = "largest of " + std::to_string(count);
    for (const Index at : {Index{0}, count / 2, count - 1}) {
      double& number = numbers[static_cast<std::size_t>(at)];
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
      const auto got = check.numbers(numbers.data(), numbers.size());
      std::vector<double> wanted;
      for (Index j = first; j < first + columns; ++j) {
        for (Index i = 0; i < rows; ++i) {
          const NormalPair pair = normal_pair(1, 1, i, j / 2);
          wanted.push_back(j % 2 == 0 ? pair.even : pair.odd);
        }
      }
      const std::string name =
          std::to_string(columns) + " columns of normal numbers from " + std::to_string(first);
      check.expect_equal(got, wanted, name);
      const double known = first == 0 ? 2.0056205499002466 : -1.3306178005989306;
      check.expect(got[first == 0 ? 0 : 2] == known, name + ": the check value");
    }
  }
}

template <class Queue>
void check_kernels(Checker<Queue>& check) {
  check_largest(check);
  check_normal_numbers(check);
  check_multi_vector_of<float>(check);
  check_multi_vector_of<double>(check);
  check_kernels_of<float>(check);
  check_kernels_of<double>(check);
  check_block_layout_of<float>(check);
  check_block_layout_of<double>(check);
}

}  // namespace matapprox::cuda
