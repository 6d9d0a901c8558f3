#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <numbers>
#include <sstream>
#include <string>
#include <vector>

#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "support/dense_formulas.hpp"
#include "support/paths.hpp"
#include "support/thread_count.hpp"

// The whole fit against tests/reference/chord_fit.csv, which chord_fit.py in that folder wrote.

namespace matapprox {
namespace {

struct Reference {
  Index order = 0;
  double norm = 0;
  double worst_error = 0;
};

std::map<std::string, Reference> references() {
  std::ifstream file(test::source_dir() + "/tests/reference/chord_fit.csv");
  std::string line;
  std::getline(file, line);
  std::map<std::string, Reference> result;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    result[cells.at(0)] = {std::stoll(cells.at(1)), std::stod(cells.at(2)), std::stod(cells.at(4))};
  }
  return result;
}

Matrix made_of(Index n, double (*entry)(Index i, Index j)) {
  Matrix A(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) A(i, j) = entry(i, j);
  }
  return A;
}

/// The 6 x 6 grid with one diagonal in each square: -1 between neighbors, 4 on the diagonal.
double grid(Index i, Index j) {
  const Index a = std::min(i, j);
  const Index b = std::max(i, j);
  const Index rows = b / 6 - a / 6;
  const Index columns = b % 6 - a % 6;
  if (a == b) return 4;
  const bool neighbors =
      (rows == 0 && columns == 1) || (rows == 1 && columns == 0) || (rows == 1 && columns == 1);
  return neighbors ? -1 : 0;
}
double permutation(Index i, Index j) { return j == (7 * i + 3) % 31 ? 1 : 0; }
double ar1(Index i, Index j) { return std::pow(0.7, static_cast<double>(std::abs(i - j))); }
double parter(Index i, Index j) { return 1 / (static_cast<double>(i - j) + 0.5); }
double cosine(Index i, Index j) {
  return std::cos(std::numbers::pi * static_cast<double>((2 * j + 1) * i) / 48);
}
double waves(Index i, Index j) {
  return std::sin(static_cast<double>(i * j) / 7) + (i == j ? 3 : 0);
}

TEST(ChordReference, SixMatricesAreFittedAsWellAsByNumPy) {
  const std::map<std::string, Matrix> matrices{{"grid", made_of(36, grid)},
                                               {"permutation", made_of(31, permutation)},
                                               {"ar1", made_of(40, ar1)},
                                               {"parter", made_of(50, parter)},
                                               {"cosine", made_of(24, cosine)},
                                               {"waves", made_of(62, waves)}};
  const test::ThreadCount one(1);  // an evaluation takes microseconds
  const auto expected = references();
  ASSERT_EQ(expected.size(), matrices.size());
  for (const auto& [name, A] : matrices) {
    const Reference& reference = expected.at(name);
    ASSERT_EQ(A.rows(), reference.order);
    ASSERT_NEAR(A.norm(), reference.norm, 1e-9 * reference.norm) << name;
    const Approximation result = chord(DenseOperator(A));
    const double error = (A - test::chord_matrix(test::chain_of(result))).norm();
    EXPECT_LE(error, reference.worst_error) << name;
    EXPECT_NEAR(result.summary.history.back().relative_error, error / A.norm(), 1e-12) << name;
  }
  std::cout << "fits compared with NumPy's: " << matrices.size() << '\n';
}

}  // namespace
}  // namespace matapprox
