#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/order/graph_order.hpp"
#include "methods/order/orderings.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using node_order::Entries;
using node_order::Ordering;

std::vector<Index> shuffled(Index n, std::uint64_t seed) {
  std::vector<Index> order = index_range(0, n);
  for (Index i = n - 1; i > 0; --i) {
    const Index other = random_index(seed, RandomStream::kGenerator, 77, i, i + 1);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(other)]);
  }
  return order;
}

/// A(rows[p], columns[q]).
Matrix ordered(const Matrix& A, const Ordering& ordering) {
  Matrix result(A.rows(), A.cols());
  for (Index p = 0; p < A.rows(); ++p) {
    for (Index q = 0; q < A.cols(); ++q) {
      result(p, q) = A(ordering.rows[static_cast<std::size_t>(p)],
                       ordering.columns[static_cast<std::size_t>(q)]);
    }
  }
  return result;
}

Index bandwidth(const Matrix& A) {
  Index widest = 0;
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = 0; j < A.cols(); ++j) {
      if (A(i, j) != 0) widest = std::max(widest, std::abs(i - j));
    }
  }
  return widest;
}

/// A path or a ring with randomly numbered nodes.
Matrix scrambled_path(Index n, bool ring) {
  Matrix A = Matrix::Zero(n, n);
  for (Index i = 0; i + (ring ? 0 : 1) < n; ++i) {
    A(i, (i + 1) % n) = 1;
    A((i + 1) % n, i) = 1;
  }
  const std::vector<Index> order = shuffled(n, 3);
  return ordered(A, {order, order});
}

Entries largest_entries_of(const Matrix& A) {
  return node_order::largest_entries(DenseOperator(A), {});
}

TEST(ChordOrder, LooksAtAllEntriesOfASparseMatrix) {
  const SparseMatrix A = test::random_sparse(70, 70, 4, 1);
  const Entries entries = node_order::largest_entries(SparseOperator(A), {});
  const Entries by_columns = node_order::largest_entries(DenseOperator(Matrix(A)), {});
  EXPECT_EQ(Matrix(entries.sizes), Matrix(by_columns.sizes));
  EXPECT_EQ(entries.by_distance, by_columns.by_distance);
  EXPECT_TRUE(entries.sparse);
  EXPECT_EQ(Matrix(entries.sizes), Matrix(A).cwiseAbs());
  EXPECT_NEAR(entries.by_distance.sum(), Matrix(A).cwiseAbs().sum(), 1e-12);
}

TEST(ChordOrder, LooksAtTheLargestEntriesOfADenseMatrix) {
  const Matrix A = test::random_matrix(150, 150);
  const Entries entries = largest_entries_of(A);
  EXPECT_FALSE(entries.sparse);
  const Matrix sizes = A.cwiseAbs();
  for (Index j = 0; j < 150; ++j) {
    Vector column = sizes.col(j);
    std::sort(column.begin(), column.end(), std::greater<>());
    const Vector expected = (sizes.col(j).array() >= column(31)).select(sizes.col(j), 0.0);
    EXPECT_EQ(Vector(Matrix(entries.sizes).col(j)), expected) << j;
  }
  Vector by_distance = Vector::Zero(150);
  for (Index i = 0; i < 150; ++i) {
    for (Index j = 0; j < 150; ++j) by_distance((j - i + 150) % 150) += sizes(i, j);
  }
  EXPECT_CLOSE(entries.by_distance, by_distance, 1e-14);
}

TEST(ChordOrder, APathIsFoundAgain) {
  const Matrix A = scrambled_path(90, false);
  ASSERT_GT(bandwidth(A), 40);
  const SparseMatrix graph = node_order::joined(largest_entries_of(A));
  const std::vector<Index> rcm = node_order::reverse_cuthill_mckee(graph);
  EXPECT_EQ(bandwidth(ordered(A, {rcm, rcm})), 1);
  const std::vector<Index> spectral = node_order::spectral_order(graph, {});
  EXPECT_EQ(bandwidth(ordered(A, {spectral, spectral})), 1);
}

/// The bandwidth of a grid of w x w nodes is at least w.
TEST(ChordOrder, AGridGetsABandAboutAsWideAsItself) {
  const Index width = 12;
  const Matrix laplacian = Matrix(test::grid_laplacian(width));
  const std::vector<Index> order = shuffled(width * width, 5);
  const Matrix A = ordered(laplacian, {order, order});
  const SparseMatrix graph = node_order::joined(largest_entries_of(A));
  const std::vector<Index> rcm = node_order::reverse_cuthill_mckee(graph);
  EXPECT_LE(bandwidth(ordered(A, {rcm, rcm})), width + 1);
  const std::vector<Index> spectral = node_order::spectral_order(graph, {});
  EXPECT_LE(bandwidth(ordered(A, {spectral, spectral})), 3 * width);
}

TEST(ChordOrder, ComponentsFollowEachOther) {
  Matrix A = Matrix::Zero(7, 7);  // 0-2-4, 1-3, 5 isolated, 6 with a loop
  for (const auto& [i, j] : {std::pair<Index, Index>{0, 2}, {2, 4}, {1, 3}}) A(i, j) = A(j, i) = 1;
  A(6, 6) = 9;
  const SparseMatrix graph = node_order::joined(largest_entries_of(A));
  EXPECT_EQ(graph.coeff(6, 6), 0);
  for (const auto& order :
       {node_order::reverse_cuthill_mckee(graph), node_order::spectral_order(graph, {})}) {
    ASSERT_EQ(order.size(), 7U);
    EXPECT_EQ(order[1], 2);
    EXPECT_EQ(order[3] + order[4], 4);
    EXPECT_EQ(order[5], 5);
    EXPECT_EQ(order[6], 6);
  }
}

/// Negative logarithm of the number of link tuples per distance, scaled to 0..1; the tuples are
/// enumerated.
TEST(ChordOrder, HopCostsCountTheWays) {
  const ChordPattern pattern{9, {{0, 1, 2}, {0, 8}, {0, 4}}};
  std::vector<double> ways(9, 0.0);
  for (const Index a : pattern.offsets[0]) {
    for (const Index b : pattern.offsets[1]) {
      for (const Index c : pattern.offsets[2]) ++ways[static_cast<std::size_t>((a + b + c) % 9)];
    }
  }
  for (const bool symmetrized : {false, true}) {
    std::vector<double> both = ways;
    for (std::size_t d = 0; symmetrized && d < 9; ++d) both[d] = ways[d] + ways[(9 - d) % 9];
    const double most = *std::max_element(both.begin(), both.end());
    double least = most;
    for (const double count : both) {
      if (count > 0) least = std::min(least, count);
    }
    const Vector costs = node_order::hop_costs(pattern, symmetrized);
    for (Index d = 0; d < 9; ++d) {
      const double count = both[static_cast<std::size_t>(d)];
      const double expected = count > 0 ? std::log(most / count) / std::log(most / least) : 20;
      EXPECT_NEAR(costs(d), expected, 1e-14) << d << symmetrized;
    }
  }
}

TEST(ChordOrder, HopCostIsASumOverTheEntries) {
  const Matrix A = test::random_matrix(20, 20);
  const Entries entries = largest_entries_of(A);
  const Vector costs = node_order::hop_costs(chord_alternating_pattern(20), false);
  const Ordering ordering{shuffled(20, 1), shuffled(20, 2)};
  const Matrix B = ordered(A, ordering);
  double expected = 0;
  for (Index p = 0; p < 20; ++p) {
    for (Index q = 0; q < 20; ++q) expected += std::abs(B(p, q)) * costs((q - p + 20) % 20);
  }
  EXPECT_NEAR(node_order::hop_cost(entries, ordering, costs), expected, 1e-12 * expected);
}

TEST(ChordOrder, TheBestShiftIsTheBestOfAll) {
  for (const Index n : {7, 64, 90}) {
    const Vector by_distance = largest_entries_of(test::random_matrix(n, n, 4)).by_distance;
    const Vector costs = node_order::hop_costs(chord_reference_pattern(n), false);
    Vector sums = Vector::Zero(n);
    for (Index t = 0; t < n; ++t) {
      for (Index d = 0; d < n; ++d) sums(t) += by_distance(d) * costs((d - t + n) % n);
    }
    Index expected = 0;
    sums.minCoeff(&expected);
    EXPECT_EQ(node_order::best_shift(by_distance, costs), expected) << n;
  }
}

TEST(ChordOrder, AnnealingBringsEntriesNear) {
  const Matrix A = scrambled_path(60, true);
  const Entries entries = largest_entries_of(A);
  const Vector costs = node_order::hop_costs(chord_alternating_pattern(60), false);
  const Ordering natural{index_range(0, 60), index_range(0, 60)};
  for (const bool together : {false, true}) {
    const Ordering found = node_order::anneal_hops(entries, {}, costs, together, 1, {});
    EXPECT_LT(node_order::hop_cost(entries, found, costs),
              0.5 * node_order::hop_cost(entries, natural, costs));
    EXPECT_EQ(found.rows == found.columns, together);
    EXPECT_EQ(node_order::anneal_hops(entries, {}, costs, together, 1, {}), found);
    std::vector<Index> sorted = found.columns;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, index_range(0, 60));
  }
}

TEST(ChordOrder, AnnealingNeverEndsAboveItsStart) {
  const Matrix A = scrambled_path(40, false);
  const Entries entries = largest_entries_of(A);
  const std::vector<Index> path = node_order::reverse_cuthill_mckee(node_order::joined(entries));
  const Ordering best{path, path};
  const Vector costs = node_order::hop_costs(chord_alternating_pattern(40), false);
  const Ordering found = node_order::anneal_hops(entries, best, costs, true, 1, {});
  EXPECT_LE(node_order::hop_cost(entries, found, costs),
            node_order::hop_cost(entries, best, costs));
}

TEST(ChordOrder, WhereNothingIsToBeGainedNothingMoves) {
  const Vector costs = node_order::hop_costs(chord_alternating_pattern(30), false);
  const Ordering natural{index_range(0, 30), index_range(0, 30)};
  for (const Matrix& A : {Matrix(Matrix::Zero(30, 30)), Matrix(Matrix::Identity(30, 30))}) {
    for (const bool together : {false, true})
      EXPECT_EQ(node_order::anneal_hops(largest_entries_of(A), {}, costs, together, 1, {}),
                natural);
  }
}

/// Rows and columns of a nonsymmetric matrix, with links that all lead forward: a distance and its
/// opposite have different costs.
TEST(ChordOrder, RowsAndColumnsMoveTheWayTheyCount) {
  const Index n = 60;
  const ChordPattern pattern{n, {{0, 1}, {0, 2}, {0, 4}, {0, 8}}};
  const Vector costs = node_order::hop_costs(pattern, false);
  Matrix band = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index d = 5; d < 9; ++d) band(i, (i + d) % n) = 1;
  }
  const Matrix A = ordered(band, {shuffled(n, 8), shuffled(n, 9)});
  const Ordering found = node_order::anneal_hops(largest_entries_of(A), {}, costs, false, 1, {});
  const Ordering natural{index_range(0, n), index_range(0, n)};
  EXPECT_LT(node_order::hop_cost(largest_entries_of(A), found, costs),
            0.3 * node_order::hop_cost(largest_entries_of(A), natural, costs));
}

TEST(ChordOrder, AnEntryThatIsNotFiniteIsNamed) {
  Matrix A = Matrix::Ones(3, 3);
  A(2, 1) = std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(NumericalError, largest_entries_of(A), "entry (2, 1)");
}

TEST(ChordOrder, TinyMatricesHaveOrders) {
  for (const Index n : {1, 2, 3}) {
    const Matrix A = Matrix::Ones(n, n);
    const DenseOperator op(A);
    const RunControl control;
    for (const bool symmetric : {false, true}) {
      node_order::Orderings orderings(op, symmetric, 1, control, {});
      for (const auto kind : {ChordOrder::kRcm, ChordOrder::kSpectral, ChordOrder::kHop}) {
        Ordering found = *orderings.of(kind, chord_reference_pattern(n), false);
        std::sort(found.rows.begin(), found.rows.end());
        std::sort(found.columns.begin(), found.columns.end());
        EXPECT_EQ(found.rows, index_range(0, n));
        EXPECT_EQ(found.columns, index_range(0, n));
      }
      EXPECT_EQ(orderings.shift(chord_reference_pattern(n)), 0);
    }
  }
}

}  // namespace
}  // namespace matapprox
