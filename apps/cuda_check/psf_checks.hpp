#pragma once

#include "attention/cuda/kernels/psf_product.hpp"
#include "checker.hpp"
#include "chord_checks.hpp"
#include "sums_checks.hpp"

namespace matapprox::cuda {

/// The factors of all samples as diagonal blocks of one dense matrix.
template <class T>
std::vector<double> dense_psf_factor(const PsfFactor<T>& factor,
                                     const std::vector<T>& values,
                                     const std::vector<T>& bias,
                                     const std::vector<std::uint8_t>& mask) {
  const Index rows = factor.rows;
  std::vector<double> W(rows * rows);
  for (Index r = 0; r < rows; ++r) {
    const Index first = r / factor.length * factor.length;
    if (!mask.empty() && mask[r] == 0) {
      W[r * rows + r] = 1;
      continue;
    }
    for (int k = 0; k < factor.links; ++k) {
      const Index j = first + (r - first + factor.offsets[k]) % factor.length;
      W[r * rows + j] += static_cast<double>(values[k * rows + r]) + static_cast<double>(bias[k]);
    }
  }
  return W;
}

/// Checks W X, W^T X with the sum that it adds to, and the gradient <G_r, X_j>, against dense
/// formulas.
template <class T, class Queue>
void check_psf_factor(
    Checker<Queue>& check, Index samples, Index length, Index columns, bool masked) {
  const Index rows = samples * length;
  const Index numbers = rows * columns;
  const auto offsets = reference_shape(length).offsets[0];
  const auto links = static_cast<Index>(offsets.size());
  const std::string name =
      text("psf, %ld x %ld, %ld columns%s", samples, length, columns, masked ? ", masked" : "");
  PsfFactor<T> factor;
  factor.rows = static_cast<int>(rows);
  factor.length = static_cast<int>(length);
  factor.links = static_cast<int>(links);
  for (std::size_t k = 0; k < offsets.size(); ++k)
    factor.offsets[k] = static_cast<std::int32_t>(offsets[k]);
  const auto values = test_numbers<T>(links * rows, 1);
  const auto bias = test_numbers<T>(links, 2);
  const auto X = test_numbers<T>(numbers, 3);
  // Close to X, so that the largest inner product is a sum without cancellation.
  auto V = test_numbers<T>(numbers, 4);
  for (std::size_t i = 0; i < V.size(); ++i) V[i] += 2 * X[i];
  const auto mask = masked ? test_mask(rows) : std::vector<std::uint8_t>();
  const auto values_array = check.array(values);
  const auto bias_array = check.array(bias);
  const auto mask_array = check.array(mask);
  factor.values = values_array.data();
  factor.bias = bias_array.data();
  factor.mask = masked ? mask_array.data() : nullptr;
  const auto W = dense_psf_factor(factor, values, bias, mask);

  const auto multiply = [&](bool transposed) {
    return dense_product(W, Dense(X.begin(), X.end()), rows, rows, columns, transposed);
  };
  const auto plus = [&](std::vector<double> Y, const std::vector<T>& added) {
    for (std::size_t i = 0; i < Y.size(); ++i) Y[i] += static_cast<double>(added[i]);
    return Y;
  };
  const auto x = check.array(X);
  const auto v = check.array(V);
  auto y = check.template zeros<T>(numbers);
  auto sum = check.array(V);
  const T* none = nullptr;
  psf_product(check.queue(), factor, x.data(), none, y.data(), columns);
  check.expect_rounded(y, multiply(false), name);
  psf_product(check.queue(), factor, x.data(), v.data(), y.data(), columns);
  check.expect_rounded(y, plus(multiply(false), V), name + ", added");
  psf_product_transposed(check.queue(), factor, x.data(), sum.data(), y.data(), columns);
  check.expect_rounded(y, multiply(true), name + ", transposed");
  std::vector<double> summed(V.begin(), V.end());
  check.expect_rounded(sum, plus(summed, X), name + ", sum");

  std::vector<double> wanted(links * rows);
  for (Index k = 0; k < links; ++k) {
    for (Index r = 0; r < rows; ++r) {
      if (masked && mask[r] == 0) continue;
      const Index first = r / length * length;
      const Index j = first + (r - first + offsets[k]) % length;
      for (Index c = 0; c < columns; ++c) {
        wanted[k * rows + r] +=
            static_cast<double>(X[r * columns + c]) * static_cast<double>(V[j * columns + c]);
      }
    }
  }
  auto gradient = check.template zeros<T>(links * rows);
  psf_weight_gradient(check.queue(), factor, x.data(), v.data(), gradient.data(), columns);
  check.expect_rounded(gradient, wanted, name + ", gradient of the weights");
}

template <class T, class Queue>
void check_psf(Checker<Queue>& check) {
  for (const Index length : {1, 2, 3, 37}) {
    for (const Index columns : {1, 3, 6, 8, 17, 64}) {
      check_psf_factor<T>(check, 1, length, columns, false);
      check_psf_factor<T>(check, 3, length, columns, length > 3);
    }
  }
  check_psf_factor<T>(check, 1, 1000, 8, true);
}

}  // namespace matapprox::cuda
