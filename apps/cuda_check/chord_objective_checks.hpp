#pragma once

#include "bench/host_objective.hpp"
#include "chord_checks.hpp"
#include "device/cuda/kernels/chord_objective.hpp"

namespace matapprox::cuda {

/// The fit by dense formulas: f = 1/2 <(W - X) S, W - X>, where S is diagonal and counts how many
/// times each column is listed; df/dW_m = L^T (W - X) S R^T at the stored entries, with L =
/// W_1..W_m-1 and R = W_m+1..W_M. [KYCY22]
class DenseFit {
 public:
  template <class T>
  DenseFit(const ChordShape& shape, const std::vector<T>& values) : shape_(shape) {
    for (Index m = 0; m < shape.factors(); ++m) W_.push_back(dense_factor(shape, m, values));
  }

  Dense before(Index m) const { return product(0, m); }
  Dense after(Index m) const { return product(m + 1, shape_.factors()); }
  Dense all() const { return product(0, shape_.factors()); }

  /// Derivative of <G, W_1...W_M> with respect to the stored entries, in the host's layout.
  std::vector<double> pull_back(const Dense& G) const {
    const Index n = shape_.order;
    std::vector<double> gradient;
    for (Index m = 0; m < shape_.factors(); ++m) {
      const Dense left = dense_product(before(m), G, n, n, n, true);
      const Dense D = dense_product(left, dense_transpose(after(m), n, n), n, n, n);
      visit_links(
          shape_, m, [&](Index i, Index j, Index /*value*/) { gradient.push_back(D[i * n + j]); });
    }
    return gradient;
  }

 private:
  Dense product(Index first, Index last) const {
    const Index n = shape_.order;
    Dense P(n * n);
    for (Index i = 0; i < n; ++i) P[i * n + i] = 1;
    for (Index m = first; m < last; ++m) P = dense_product(P, W_[m], n, n, n);
    return P;
  }

  const ChordShape& shape_;
  std::vector<Dense> W_;
};

/// A = (A + A^T) / 2, n x n.
template <class T>
void make_symmetric(std::vector<T>& A, Index n) {
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < i; ++j) {
      T& low = A[i * n + j];
      T& high = A[j * n + i];
      low = high = (low + high) / T(2);
    }
  }
}

/// Multiplies column j of A by the number of times that it is listed.
inline Dense times_listed(Dense A, const std::vector<Index>& columns, Index n) {
  std::vector<double> times(n);
  for (const Index c : columns) times[c] += 1;
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) A[i * n + j] *= times[j];
  }
  return A;
}

template <class T, class Queue>
void check_chord_fit(Checker<Queue>& check,
                     const ChordShape& shape,
                     const std::vector<Index>& listed,
                     Index width) {
  const Index n = shape.order;
  const Index numbers = shape.stored_numbers();
  const std::string name = text("chord fit, N = %ld, panels of %ld", n, width);
  const auto values = test_numbers<T>(numbers, 6);
  auto X = test_numbers<T>(n * n, 8);
  if (shape.symmetrized) make_symmetric(X, n);
  ChordObjective<T, Queue> objective(check.queue(), shape, width);
  const auto to_device = [&](const std::vector<T>& host) {
    auto rows = check.array(host);
    auto device = check.template zeros<T>(numbers);
    objective.chain().to_device_layout(rows.data(), device.data());
    return device;
  };
  const auto to_host = [&](const auto& device) {
    auto rows = check.template zeros<T>(numbers);
    objective.chain().to_host_layout(device.data(), rows.data());
    return check.numbers(rows.data(), numbers);
  };
  const auto w = to_device(values);
  const auto x = check.array(X);
  const auto columns = check.array(listed);
  auto gradient = check.template zeros<T>(numbers);
  const DenseColumns<T> target{x.data(), n, width, columns.data()};
  const double f =
      objective.evaluate(w.data(), columns.data(), columns.size(), target, gradient.data());

  const DenseFit dense(shape, values);
  Dense R = dense.all();
  if (shape.symmetrized) make_symmetric(R, n);
  for (std::size_t i = 0; i < R.size(); ++i) R[i] -= static_cast<double>(X[i]);
  const Dense weighted = times_listed(R, listed, n);
  double wanted = 0;
  for (std::size_t i = 0; i < R.size(); ++i) wanted += 0.5 * R[i] * weighted[i];
  check.expect_close(f, wanted, kRounding<T>, name);
  check.expect_close(
      to_host(gradient), dense.pull_back(weighted), kRounding<T>, name + ", gradient");

  const double alone =
      objective.evaluate(w.data(), columns.data(), columns.size(), target, nullptr);
  check.expect(alone == f, name + ", without gradient: not the same bits");
}

/// Checks columns of a sparse matrix whose column j has j % 150 entries, all in different rows.
template <class T, class Queue>
void check_sparse_panel(Checker<Queue>& check) {
  constexpr Index n = 170;
  constexpr Index width = 5;
  const T unit = T(3);
  std::vector<Index> starts{0};
  std::vector<Index> rows;
  for (Index j = 0; j < n; ++j) {
    for (Index e = 0; e < j % 150; ++e) rows.push_back((e * 7 + j) % n);
    starts.push_back(static_cast<Index>(rows.size()));
  }
  const auto values = test_numbers<T>(static_cast<Index>(rows.size()), 9);
  const std::vector<Index> listed{149, 0, 7, 7};
  const auto on_starts = check.array(starts);
  const auto on_rows = check.array(rows);
  const auto on_values = check.array(values);
  const auto on_listed = check.array(listed);
  auto panel = check.template zeros<T>(n * width);
  check.queue().run(SparsePanel<T>{on_starts.data(),
                                   on_rows.data(),
                                   on_values.data(),
                                   unit,
                                   on_listed.data(),
                                   4,
                                   width,
                                   panel.data()});
  std::vector<double> wanted(n * width);
  for (std::size_t c = 0; c < listed.size(); ++c) {
    const auto j = static_cast<std::size_t>(listed[c]);
    for (Index e = starts[j]; e < starts[j + 1]; ++e) {
      const auto at = static_cast<std::size_t>(e);
      wanted[static_cast<std::size_t>(rows[at] * width) + c] =
          static_cast<double>(values[at]) / static_cast<double>(unit);
    }
  }
  check.expect_rounded(panel, wanted, "columns of a sparse matrix");
}

/// Checks the reference that the benchmark measures a GPU against.
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
  const std::string name = text("the host's objective, N = %ld", n);
  check.expect_close(f, wanted, 1e-12, name);
  check.expect_close(got, check.numbers(gradient), 1e-12, name + ", gradient");
}

template <class Queue>
void check_chord_objective(Checker<Queue>& check) {
  check_sparse_panel<double>(check);
  check_sparse_panel<float>(check);
  for (const Index n : {1, 2, 3, 37}) {
    std::vector<Index> all;
    for (Index c = 0; c < n; ++c) all.push_back(c);
    check_chord_fit<double>(check, reference_shape(n), all, 16);
    check_chord_fit<float>(check, reference_shape(n), all, 3);
  }
  // A few columns, one of them twice in one panel; factors with different lists of links.
  const ChordShape own{11, {{0, 3, 7}, {10}, {1, 2, 0, 5}}};
  check_chord_fit<double>(check, own, {4, 4, 0, 10, 4}, 4);
  check_chord_fit<double>(check, own, {2}, 2);
  // Checks of the symmetric part of the product.
  for (const Index n : {2, 37}) {
    ChordShape symmetrized = reference_shape(n);
    symmetrized.symmetrized = true;
    std::vector<Index> all;
    for (Index c = 0; c < n; ++c) all.push_back(c);
    check_chord_fit<double>(check, symmetrized, all, 16);
    check_chord_fit<float>(check, symmetrized, all, 3);
  }
  for (const Index n : {1, 3, 37, 64}) check_host_objective(check, reference_shape(n), 2);
  check_host_objective(check, {11, {{3}, {10, 0, 5}}}, 3);
}

}  // namespace matapprox::cuda
