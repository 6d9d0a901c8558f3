#pragma once

#include "bench/host_objective.hpp"
#include "bench/pivoted_cholesky.hpp"
#include "chord_checks.hpp"
#include "device/cuda/kernels/chord_objective.hpp"

// Checks of the references that the benchmark measures a GPU or its errors against.
namespace matapprox::cuda {

template <class Queue>
void check_host_objective(Checker<Queue>& check, const ChordShape& shape, int threads) {
  const Index n = shape.order;
  const auto values = test_numbers<double>(shape.stored_numbers(), 81);
  const auto X = test_numbers<double>(n * n, 82);
  std::vector<double> got;
  const double f = host_objective(shape, values, X, threads, got);

  std::vector<Index> all;
  for (Index c = 0; c < n; ++c) all.push_back(c);
  const auto columns = check.array(all);
  const auto target = check.array(X);
  const auto device_values = check.array(values);
  auto gradient = check.template zeros<double>(shape.stored_numbers());
  ChordObjective<double, Queue> objective(check.queue(), shape, 8);
  const double wanted =
      objective.evaluate(device_values.data(),
                         columns.data(),
                         n,
                         DenseColumns<double>{target.data(), n, 8, columns.data()},
                         gradient.data());
  const std::string name = "the host's objective, N = " + std::to_string(n);
  check.expect_close(std::vector<double>{f}, std::vector<double>{wanted}, 1e-12, name);
  check.expect_close(
      got, check.numbers(gradient.data(), gradient.size()), 1e-12, name + ", gradient");
}

/// Checks that F F^T equals K at the landmarks, and that the trace of K - F F^T agrees with the
/// residual diagonal.
template <class Queue>
void check_pivoted_cholesky(Checker<Queue>& check) {
  const RandomPoints example(300);
  const KernelFactor<Queue> kernel(check.queue(), example.host_kernel());
  const PivotedCholesky<Queue> cholesky(check.queue(), kernel, 120);
  check.expect(cholesky.tall().kept() == 120, "pivoted Cholesky: 120 landmarks");
  std::vector<Index> all;
  for (Index i = 0; i < example.count; ++i) all.push_back(i);
  SmallMatrix F(example.count, cholesky.tall().kept());
  cholesky.tall().factor_rows(all, F.numbers.data());
  std::vector<double> got;
  std::vector<double> wanted;
  double trace = 0;
  for (Index i = 0; i < example.count; ++i) {
    for (Index j = 0; j < example.count; ++j) {
      double sum = 0;
      for (Index l = 0; l < F.cols; ++l) sum += F(i, l) * F(j, l);
      if (i == j) trace += 1 - sum;
      if (std::ranges::find(cholesky.landmarks(), j) == cholesky.landmarks().end()) continue;
      got.push_back(sum);
      wanted.push_back(example.entry(i, j));
    }
  }
  check.expect(std::ssize(got) == 120 * example.count, "pivoted Cholesky: each landmark once");
  check.expect_close(got, wanted, 1e-10, "pivoted Cholesky, F F^T at the landmarks");
  std::vector<double> columns(F.numbers.size());
  cholesky.tall().download_columns(columns.data());
  wanted.clear();
  for (const Index j : cholesky.landmarks()) {
    for (Index i = 0; i < example.count; ++i) wanted.push_back(example.entry(i, j));
  }
  check.expect_close(columns, wanted, 1e-12, "pivoted Cholesky, its columns");
  check.expect_close(std::vector<double>{cholesky.trace_left()},
                     std::vector<double>{trace / static_cast<double>(example.count)},
                     1e-10,
                     "pivoted Cholesky, trace of what is left");
}

template <class Queue>
void check_bench(Checker<Queue>& check) {
  for (const Index n : {1, 3, 37, 64}) check_host_objective(check, reference_shape(n), 2);
  check_host_objective(check, {11, {{3}, {10, 0, 5}}}, 3);
  check_pivoted_cholesky(check);
}

}  // namespace matapprox::cuda
