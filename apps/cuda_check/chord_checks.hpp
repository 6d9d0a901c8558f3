#pragma once

#include "checker.hpp"
#include "device/cuda/kernels/chord_chain.hpp"
#include "device/cuda/kernels/chord_stream.hpp"

namespace matapprox::cuda {

/// The reference pattern: links 0, 1, 2, 4, ... below n, and ceil(log2 n) factors.
inline ChordShape reference_shape(Index n) {
  std::vector<Index> offsets{0};
  for (Index o = 1; o < n; o *= 2) offsets.push_back(o);
  return {n,
          std::vector<std::vector<Index>>(std::max<std::size_t>(offsets.size() - 1, 1), offsets)};
}

/// Calls visit(i, j, value) for each link of factor m, from row i to row j; its value has that
/// number in the host's layout.
template <class Visit>
void visit_links(const ChordShape& shape, Index m, const Visit& visit) {
  Index value = shape.first_value(m);
  for (Index i = 0; i < shape.order; ++i) {
    for (const Index offset : shape.offsets[m]) visit(i, (i + offset) % shape.order, value++);
  }
}

/// W_m as a dense row-major matrix, from values in the host's layout. Equal links add up.
template <class T>
Dense dense_factor(const ChordShape& shape, Index m, const std::vector<T>& values) {
  Dense dense(shape.order * shape.order);
  visit_links(shape, m, [&](Index i, Index j, Index value) {
    dense[i * shape.order + j] += static_cast<double>(values[value]);
  });
  return dense;
}

/// Computes Y = W_m X, or W_m^T X if transposed, by definition in double.
template <class T>
std::vector<double> multiply_by_definition(const ChordShape& shape,
                                           Index m,
                                           const std::vector<T>& values,
                                           const std::vector<double>& X,
                                           Index columns,
                                           bool transposed) {
  std::vector<double> Y(X.size());
  visit_links(shape, m, [&](Index i, Index j, Index value) {
    const auto w = static_cast<double>(values[value]);
    double* to = Y.data() + (transposed ? j : i) * columns;
    const double* from = X.data() + (transposed ? i : j) * columns;
    for (Index c = 0; c < columns; ++c) to[c] += w * from[c];
  });
  return Y;
}

template <class T, class Queue>
void check_chord_products(Checker<Queue>& check, const ChordShape& shape, Index columns) {
  const Index numbers = shape.order * columns;
  const std::string name =
      text("chord product, N = %ld, %ld columns, %zu bits", shape.order, columns, 8 * sizeof(T));
  const auto values = test_numbers<T>(shape.stored_numbers(), 1);
  const auto X = test_numbers<T>(numbers, 2);
  const ChordChain<T, Queue> chain(check.queue(), shape);
  auto rows = check.array(values);
  auto device = check.template zeros<T>(shape.stored_numbers());
  chain.to_device_layout(rows.data(), device.data());

  auto back = check.template zeros<T>(shape.stored_numbers());
  chain.to_host_layout(device.data(), back.data());
  check.expect_equal(check.numbers(back), values, name + ", layout and back");

  for (const bool transposed : {false, true}) {
    std::vector<double> wanted(X.begin(), X.end());
    for (Index step = 0; step < shape.factors(); ++step) {
      const Index m = transposed ? step : shape.factors() - 1 - step;
      wanted = multiply_by_definition(shape, m, values, wanted, columns, transposed);
    }
    auto x = check.array(X);
    auto spare = check.template zeros<T>(numbers);
    const T* y = chain.apply(device.data(), x.data(), spare.data(), columns, transposed);
    check.expect_close(
        check.numbers(y, numbers), wanted, kRounding<T>, name + (transposed ? ", transposed" : ""));
    // The same, streamed from the host in pieces, the last of which is not full.
    auto again = check.array(X);
    StreamedChord<T, Queue> streamed(check.queue(), shape, 5 * shape.max_links() + 1);
    const T* z = streamed.apply(values.data(), again.data(), spare.data(), columns, transposed);
    check.expect_close(check.numbers(z, numbers),
                       wanted,
                       kRounding<T>,
                       name + ", streamed" + (transposed ? ", transposed" : ""));
  }
}

/// Checks the gradient of <G, W_m X>: entry (i, k) is the inner product of row i of G with row (i +
/// offset) mod N of X, added to the value that is already there.
template <class T, class Queue>
void check_chord_gradient(Checker<Queue>& check, const ChordShape& shape, Index columns) {
  const Index numbers = shape.order * columns;
  const auto G = test_numbers<T>(numbers, 3);
  const auto X = test_numbers<T>(numbers, 4);
  const auto before = test_numbers<T>(shape.stored_numbers(), 5);
  const ChordChain<T, Queue> chain(check.queue(), shape);
  auto rows = check.array(before);
  auto gradient = check.template zeros<T>(shape.stored_numbers());
  chain.to_device_layout(rows.data(), gradient.data());
  const auto g = check.array(G);
  const auto x = check.array(X);
  std::vector<double> wanted(before.begin(), before.end());
  for (Index m = 0; m < shape.factors(); ++m) {
    chain.add_gradient(m, g.data(), x.data(), gradient.data() + shape.first_value(m), columns);
    visit_links(shape, m, [&](Index i, Index j, Index value) {
      for (Index c = 0; c < columns; ++c) {
        wanted[value] +=
            static_cast<double>(G[i * columns + c]) * static_cast<double>(X[j * columns + c]);
      }
    });
  }
  chain.to_host_layout(gradient.data(), rows.data());
  check.expect_rounded(
      rows, wanted, text("chord gradient, N = %ld, %ld columns", shape.order, columns));
}

template <class T, class Queue>
void check_chord(Checker<Queue>& check) {
  for (const Index n : {1, 2, 3, 37, 1000, 4096}) {
    for (const Index columns : {1, 3, 8, 17}) {
      // The long sums of the definition are slow, so the largest order runs with one block width
      // only.
      if (n == 4096 && columns != 3) continue;
      check_chord_products<T>(check, reference_shape(n), columns);
      check_chord_gradient<T>(check, reference_shape(n), columns);
    }
  }
  check_chord_products<T>(check, reference_shape(5), 512);
  check_chord_products<T>(check, reference_shape(3), 1023);
  // Slabs of columns, the last one narrower, and blocks of threads that extend beyond the rows.
  check_chord_products<T>(check, {1100, {{0, 1, 500, 1099}}}, 136);
  // Enough pieces for many threads per row.
  check_chord_gradient<T>(check, reference_shape(37), 256);
  // Different lists of links per factor; more links than a kernel takes; unsorted links.
  ChordShape own{101, {{3}, {100, 0, 50}, {}}};
  for (Index k = 0; k < 90; ++k) own.offsets[2].push_back((7 * k) % 101);
  check_chord_products<T>(check, own, 6);
  check_chord_gradient<T>(check, own, 6);
}

}  // namespace matapprox::cuda
