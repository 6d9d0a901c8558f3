#pragma once

#include "attention/cuda/kernels/axis_softmax.hpp"
#include "attention/cuda/kernels/layer_norm.hpp"
#include "checker.hpp"
#include "sums_checks.hpp"

namespace matapprox::cuda {

/// y = exp(scale x_i) / sum over the places of a list, and dx = scale y o (dy - <y, dy>).
template <class T>
void softmax_by_definition(const std::vector<std::size_t>& places,
                           double scale,
                           const std::vector<T>& X,
                           const std::vector<T>& dY,
                           std::vector<double>& y,
                           std::vector<double>& dx) {
  double sum = 0;
  for (const std::size_t i : places) sum += std::exp(scale * static_cast<double>(X[i]));
  double mean = 0;
  for (const std::size_t i : places) {
    y[i] = std::exp(scale * static_cast<double>(X[i])) / sum;
    mean += y[i] * static_cast<double>(dY[i]);
  }
  for (const std::size_t i : places) dx[i] = scale * y[i] * (static_cast<double>(dY[i]) - mean);
}

/// `dx` may be 0 but for rounding: beside 1 it counts as such.
template <class T, class Queue>
void expect_softmax(Checker<Queue>& check,
                    std::vector<T> got,
                    std::vector<double> wanted,
                    const std::string& name) {
  got.push_back(T(1));
  wanted.push_back(1);
  check.expect_close(got, wanted, kRounding<T>, name);
}

template <class T, class Queue>
void check_softmax_rows(Checker<Queue>& check, Index rows, Index columns) {
  const Index numbers = rows * columns;
  const auto X = test_numbers<T>(numbers, 1);
  const auto dY = test_numbers<T>(numbers, 2);
  std::vector<double> wanted(X.size());
  std::vector<double> derivative(X.size());
  for (Index i = 0; i < rows; ++i) {
    std::vector<std::size_t> places;
    for (Index j = 0; j < columns; ++j) places.push_back(static_cast<std::size_t>(i * columns + j));
    softmax_by_definition(places, 0.7, X, dY, wanted, derivative);
  }
  auto y = check.array(X);
  auto dx = check.array(dY);
  check.queue().run(SoftmaxRows<T>{y.data(), y.data(), rows, columns, T(0.7)});
  check.queue().run(SoftmaxRowsGradient<T>{y.data(), dx.data(), dx.data(), rows, columns, T(0.7)});
  const std::string name =
      "softmax of rows, " + std::to_string(rows) + " x " + std::to_string(columns);
  expect_softmax(check, check.numbers(y.data(), numbers), wanted, name);
  expect_softmax(check, check.numbers(dx.data(), numbers), derivative, name + ", gradient");
}

template <class T, class Queue>
void check_softmax_columns(
    Checker<Queue>& check, Index samples, Index length, Index columns, bool masked) {
  const Index rows = samples * length;
  const Index numbers = rows * columns;
  const auto X = test_numbers<T>(numbers, 1);
  const auto dY = test_numbers<T>(numbers, 2);
  const auto mask = test_mask(rows);
  std::vector<double> wanted(X.size());
  std::vector<double> derivative(X.size());
  for (Index s = 0; s < samples; ++s) {
    for (Index j = 0; j < columns; ++j) {
      std::vector<std::size_t> places;
      for (Index i = s * length; i < (s + 1) * length; ++i) {
        if (!masked || mask[static_cast<std::size_t>(i)] != 0)
          places.push_back(static_cast<std::size_t>(i * columns + j));
      }
      softmax_by_definition(places, 0.7, X, dY, wanted, derivative);
    }
  }
  const auto m = check.array(mask);
  const auto x = check.array(X);
  auto y = check.template zeros<T>(numbers);
  auto dx = check.array(dY);
  auto spare = check.template zeros<T>(samples * columns);
  Scratch<T, Queue> scratch(check.queue());
  softmax_columns(scratch,
                  masked ? m.data() : nullptr,
                  samples,
                  length,
                  columns,
                  T(0.7),
                  x.data(),
                  y.data(),
                  spare.data());
  const std::string name = "softmax of columns, " + std::to_string(samples) + " x " +
                           std::to_string(length) + " x " + std::to_string(columns);
  expect_softmax(check, check.numbers(y.data(), numbers), wanted, name);
  softmax_columns_backward(
      scratch, samples, length, columns, T(0.7), y.data(), dx.data(), dx.data(), spare.data());
  expect_softmax(check, check.numbers(dx.data(), numbers), derivative, name + ", gradient");
}

/// Its definition; the gradient of <dY, Y> from dz = dy o weight.
template <class T, class Queue>
void check_layer_norm(Checker<Queue>& check, Index rows, Index columns) {
  const Index numbers = rows * columns;
  const auto X = test_numbers<T>(numbers, 1);
  const auto dY = test_numbers<T>(numbers, 2);
  const auto weight = test_numbers<T>(columns, 3);
  const auto bias = test_numbers<T>(columns, 4);
  std::vector<double> wanted(X.size());
  std::vector<double> derivative(X.size());
  std::vector<double> d_weight(weight.size());
  std::vector<double> d_bias(weight.size());
  const auto d = static_cast<double>(columns);
  for (Index i = 0; i < rows; ++i) {
    const auto row = static_cast<std::size_t>(i * columns);
    double mean = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) mean += static_cast<double>(X[row + j]) / d;
    double variance = 0;
    for (std::size_t j = 0; j < weight.size(); ++j) {
      const double off = static_cast<double>(X[row + j]) - mean;
      variance += off * off / d;
    }
    const double s = 1 / std::sqrt(variance + 1e-5);
    double g_mean = 0;
    double g_along = 0;
    std::vector<double> z(weight.size());
    for (std::size_t j = 0; j < weight.size(); ++j) {
      z[j] = (static_cast<double>(X[row + j]) - mean) * s;
      const auto dy = static_cast<double>(dY[row + j]);
      wanted[row + j] = z[j] * static_cast<double>(weight[j]) + static_cast<double>(bias[j]);
      d_weight[j] += dy * z[j];
      d_bias[j] += dy;
      g_mean += dy * static_cast<double>(weight[j]) / d;
      g_along += dy * static_cast<double>(weight[j]) * z[j] / d;
    }
    for (std::size_t j = 0; j < weight.size(); ++j) {
      const double g = static_cast<double>(dY[row + j]) * static_cast<double>(weight[j]);
      derivative[row + j] = s * (g - g_mean - z[j] * g_along);
    }
  }
  auto x = check.array(X);
  auto dy = check.array(dY);
  const auto w = check.array(weight);
  const auto b = check.array(bias);
  auto z = check.template zeros<T>(numbers);
  auto scales = check.template zeros<T>(rows);
  auto got_weight = check.template zeros<T>(columns);
  auto got_bias = check.template zeros<T>(columns);
  Scratch<T, Queue> scratch(check.queue());
  check.queue().run(LayerNormForward<T>{
      x.data(), w.data(), b.data(), x.data(), z.data(), scales.data(), rows, columns});
  layer_norm_backward(
      scratch,
      LayerNormGradient<T>{z.data(), scales.data(), w.data(), dy.data(), dy.data(), rows, columns},
      got_weight.data(),
      got_bias.data());
  const std::string name = "layer norm, " + std::to_string(rows) + " x " + std::to_string(columns);
  expect_softmax(check, check.numbers(x.data(), numbers), wanted, name);
  // Rows of few numbers that hardly differ have a large s, which rounding is multiplied by.
  check.expect_close(
      check.numbers(dy.data(), numbers), derivative, 100 * kRounding<T>, name + ", gradient");
  expect_softmax(check, check.numbers(got_weight.data(), columns), d_weight, name + ", weight");
  check.expect_close(
      check.numbers(got_bias.data(), columns), d_bias, kRounding<T>, name + ", bias");
}

template <class T, class Queue>
void check_rows_of(Checker<Queue>& check) {
  for (const Index rows : {1, 2, 3, 37, 1000}) {
    for (const Index columns : {1, 3, 8, 45}) {
      check_softmax_rows<T>(check, rows, columns);
      check_softmax_columns<T>(check, 2, rows, columns, rows > 3);
      if (columns > 1) check_layer_norm<T>(check, rows, columns);
    }
  }
}

template <class Queue>
void check_rows(Checker<Queue>& check) {
  check_rows_of<float>(check);
  check_rows_of<double>(check);
}

}  // namespace matapprox::cuda
