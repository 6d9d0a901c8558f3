#pragma once

#include "attention/cuda/kernels/token_gradient.hpp"
#include "checker.hpp"
#include "device/cuda/kernels/tall_product.hpp"

namespace matapprox::cuda {

/// A mask in which about one row in four is padding.
inline std::vector<std::uint8_t> test_mask(Index rows) {
  const auto numbers = test_numbers<double>(rows, 91);
  std::vector<std::uint8_t> mask;
  mask.reserve(numbers.size());
  for (const double number : numbers) mask.push_back(number < -0.5 ? 0 : 1);
  return mask;
}

template <class T, class Queue>
void check_column_sums(
    Checker<Queue>& check, Index segments, Index rows, Index columns, bool masked) {
  const auto X = test_numbers<T>(segments * rows * columns, 7);
  const auto mask = test_mask(segments * rows);
  std::vector<double> wanted(segments * columns);
  for (Index r = 0; r < segments * rows; ++r) {
    if (masked && mask[r] == 0) continue;
    for (Index j = 0; j < columns; ++j) {
      wanted[r / rows * columns + j] += static_cast<double>(X[r * columns + j]);
    }
  }
  const auto x = check.array(X);
  const auto m = check.array(mask);
  auto sums = check.template zeros<T>(segments * columns);
  Scratch<T, Queue> scratch(check.queue());
  column_sums(scratch, x.data(), masked ? m.data() : nullptr, segments, rows, columns, sums.data());
  const std::string name =
      text("column sums, %ld x %ld x %ld%s", segments, rows, columns, masked ? ", masked" : "");
  check.expect_rounded(sums, wanted, name);
}

/// Checks sums of rows, and of the squares of rows, in double.
template <class T, class Queue>
void check_row_sums(Checker<Queue>& check, Index rows, Index columns) {
  const auto X = test_numbers<T>(rows * columns, 8);
  std::vector<double> sums(rows);
  std::vector<double> squares = sums;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      const auto x = static_cast<double>(X[i * columns + j]);
      sums[i] += x;
      squares[i] += x * x;
    }
  }
  const std::string name = text("row sums, %ld x %ld", rows, columns);
  const auto x = check.array(X);
  auto got = check.template zeros<double>(rows);
  Scratch<double, Queue> scratch(check.queue());
  row_sums(scratch, x.data(), rows, columns, got.data());
  check.expect_rounded(got, sums, name);
  row_sums<true>(scratch, x.data(), rows, columns, got.data());
  check.expect_rounded(got, squares, name + ", squares");
}

/// Checks C = A^T B and A B^T with more rows than one part holds.
template <class T, class Queue>
void check_tall_product(Checker<Queue>& check, Index k) {
  const Index m = 3;
  const Index n = 5;
  const auto A = test_numbers<T>(k * m, 1);
  const auto B = test_numbers<T>(k * n, 2);
  const auto a = check.array(A);
  const auto b = check.array(B);
  auto c = check.template zeros<T>(m * n);
  Scratch<T, Queue> scratch(check.queue());
  for (const bool upright : {true, false}) {
    const Dense right(B.begin(), B.end());
    const Dense wanted = dense_product(Dense(A.begin(), A.end()),
                                       upright ? right : dense_transpose(right, n, k),
                                       m,
                                       k,
                                       n,
                                       upright);
    const T* from = a.data();
    const T* by = b.data();
    tall_product(scratch,
                 upright ? product_tn(m, n, k, from, m, by, n, c.data(), n)
                         : product_nt(m, n, k, from, k, by, k, c.data(), n));
    check.expect_rounded(c, wanted, text("tall product, %ld rows%s", k, upright ? "" : ", A B^T"));
  }
}

/// Checks that gradient[id] is the sum of the rows whose token is `id`.
template <class T, class Queue>
void check_token_gradient(Checker<Queue>& check, Index rows, Index vocabulary, Index columns) {
  const auto X = test_numbers<T>(rows * columns, 9);
  const auto mask = test_mask(rows);
  std::vector<std::int32_t> tokens;
  for (const double u : test_numbers<double>(rows, 10))
    tokens.push_back(static_cast<std::int32_t>((u + 1) / 2 * static_cast<double>(vocabulary)));
  std::vector<double> wanted(vocabulary * columns);
  for (Index r = 0; r < rows; ++r) {
    if (mask[r] == 0) continue;
    for (Index j = 0; j < columns; ++j) {
      wanted[tokens[r] * columns + j] += static_cast<double>(X[r * columns + j]);
    }
  }
  const auto x = check.array(X);
  auto gradient = check.array(test_numbers<T>(vocabulary * columns, 11));
  TokenOrderOnQueue<Queue> order(check.queue(), rows, vocabulary);
  order.upload(order_tokens(tokens.data(), mask.data(), rows, vocabulary));
  Scratch<T, Queue> scratch(check.queue());
  order.gradient(scratch, x.data(), columns, gradient.data());
  check.expect_rounded(
      gradient,
      wanted,
      text("gradient of %ld token vectors, %ld rows of %ld", vocabulary, rows, columns));
}

template <class T, class Queue>
void check_sums(Checker<Queue>& check) {
  for (const Index rows : {1, 2, 3, 37, 1000, 2500}) {
    for (const Index columns : {1, 7, 32, 45, 300}) {
      check_column_sums<T>(check, 1, rows, columns, false);
      if (rows <= 1000 && columns < 300) check_column_sums<T>(check, 3, rows, columns, rows > 3);
    }
  }
  for (const Index columns : {1, 2, 3, 37, 1000, 20000}) check_row_sums<T>(check, 3, columns);
  for (const Index k : {1, 37, 2048, 2049, 7000}) check_tall_product<T>(check, k);
  check_token_gradient<T>(check, 1, 1, 3);
  check_token_gradient<T>(check, 1000, 2, 8);
  check_token_gradient<T>(check, 1000, 37, 5);
}

}  // namespace matapprox::cuda
