#include <gtest/gtest.h>

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "matapprox/io/matrix_files.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "support/conversions.hpp"
#include "support/dense_formulas.hpp"
#include "support/paths.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

struct TableRow {
  std::string file;
  std::string name;
  Index order = 0;
  double paper_error = 0;
};

/// Rows of the paper's Table 1 of order at most `largest`.
std::vector<TableRow> table_rows(const std::string& folder, Index largest) {
  std::ifstream table(folder + "/table1.csv");
  std::string line;
  std::getline(table, line);
  std::vector<TableRow> rows;
  while (std::getline(table, line)) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    const TableRow row{
        folder + "/" + cells.at(0), cells.at(1), std::stoll(cells.at(3)), std::stod(cells.at(10))};
    if (row.order <= largest) rows.push_back(row);
  }
  return rows;
}

TEST(ChordPaper, SmallRowsOfTable1AreAtOrUnderThePapersError) {
  const std::string folder = test::shared_matrices();
  if (folder.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  const test::ThreadCount one(1);  // an evaluation takes microseconds
  const auto rows = table_rows(folder, test::kSanitized ? 35 : 62);
  ASSERT_EQ(rows.size(), test::kSanitized ? 5U : 11U);
  for (const TableRow& row : rows) {
    const Matrix A = test::dense_of(read_matrix_market(row.file));
    const Approximation result = chord(DenseOperator(A));
    const double error = (A - test::chord_matrix(test::chain_of(result))).norm();
    EXPECT_LE(error, row.paper_error) << row.name;
    EXPECT_EQ(result.storage().numbers, chord_reference_numbers(row.order)) << row.name;
  }
  std::cout << "fits compared with the paper's: " << rows.size() << '\n';
}

}  // namespace
}  // namespace matapprox
