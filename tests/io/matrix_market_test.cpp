#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using ::testing::HasSubstr;

SparseMatrix sparse(const std::string& text, const MatrixMarketOptions& options = {}) {
  return std::get<SparseMatrix>(parse_matrix_market(text, "x.mtx", options));
}

Matrix dense(const std::string& text) {
  return std::get<Matrix>(parse_matrix_market(text, "x.mtx"));
}

Matrix full(const SparseMatrix& A) { return Matrix(A); }

/// Returns the message of the FileError that the text must cause.
std::string market_complaint(const std::string& text) {
  return test::complaint_of([&] { parse_matrix_market(text, "x.mtx"); });
}

const std::string kCoordinate = "%%MatrixMarket matrix coordinate real general\n";

TEST(MatrixMarket, CoordinateGeneral) {
  const SparseMatrix A = sparse(kCoordinate + "% a comment\n\n2 3 3\n2 3 -1.5\n1 1 2\n2 1 4e1\n");
  Matrix expected(2, 3);
  expected << 2, 0, 0, 40, 0, -1.5;
  EXPECT_EQ(full(A), expected);
  EXPECT_EQ(A.nonZeros(), 3);
  EXPECT_TRUE(A.isCompressed());
}

TEST(MatrixMarket, CoordinateSymmetricIsExpanded) {
  const SparseMatrix A =
      sparse("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 5\n3 1 2\n2 3 7\n");
  Matrix expected(3, 3);
  expected << 5, 0, 2, 0, 0, 7, 2, 7, 0;
  EXPECT_EQ(full(A), expected);
}

TEST(MatrixMarket, CoordinateSkewSymmetricIsExpanded) {
  const SparseMatrix A =
      sparse("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n");
  Matrix expected(2, 2);
  expected << 0, -3, 3, 0;
  EXPECT_EQ(full(A), expected);
}

TEST(MatrixMarket, PatternIsOne) {
  const SparseMatrix A =
      sparse("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 2");
  Matrix expected(2, 2);
  expected << 0, 1, 0, 1;
  EXPECT_EQ(full(A), expected);
}

TEST(MatrixMarket, DuplicatesAreSummedAndZerosDropped) {
  const std::string text = kCoordinate + "2 2 5\n1 1 1\n1 1 2\n2 2 0\n1 2 1\n1 2 -1\n";
  const SparseMatrix A = sparse(text);
  EXPECT_EQ(A.nonZeros(), 1);
  EXPECT_EQ(A.coeff(0, 0), 3);
  const SparseMatrix kept = sparse(text, {.keep_explicit_zeros = true});
  EXPECT_EQ(kept.nonZeros(), 3);
  EXPECT_EQ(full(kept), full(A));
}

// 1e16 - 1e16 + 1 = 1, but (1 - 1e16) + 1e16 = 0 in doubles: the order in the file matters, in
// short rows and in long ones.
TEST(MatrixMarket, DuplicatesAreSummedInFileOrder) {
  for (const int others : {2, 100}) {
    std::string text =
        kCoordinate + "1 200 " + std::to_string(others + 3) + "\n1 150 1e16\n1 150 -1e16\n";
    for (int k = 0; k < others; ++k) text += "1 " + std::to_string(k + 1) + " 7\n";
    EXPECT_EQ(sparse(text + "1 150 1\n").coeff(0, 149), 1);
  }
}

TEST(MatrixMarket, ArrayFormats) {
  Matrix general(2, 3);
  general << 1, 3, 5, 2, 4, 6;
  EXPECT_EQ(dense("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n"), general);
  EXPECT_EQ(dense("%%MatrixMarket matrix array integer general\n% c\n2 3\n1 2\n% c\n\n3 4 5 6"),
            general);
  Matrix symmetric(3, 3);
  symmetric << 1, 2, 3, 2, 4, 5, 3, 5, 6;
  EXPECT_EQ(dense("%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n"),
            symmetric);
  Matrix skew(3, 3);
  skew << 0, -1, -2, 1, 0, -3, 2, 3, 0;
  EXPECT_EQ(dense("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n"), skew);
}

TEST(MatrixMarket, OrderOne) {
  EXPECT_EQ(dense("%%MatrixMarket matrix array real general\n1 1\n7"), Matrix::Constant(1, 1, 7.0));
  EXPECT_EQ(dense("%%MatrixMarket matrix array real skew-symmetric\n1 1\n"), Matrix::Zero(1, 1));
  EXPECT_EQ(full(sparse(kCoordinate + "1 1 0\n")), Matrix::Zero(1, 1));
  EXPECT_EQ(full(sparse(kCoordinate + "1 1 1\n1 1 2")), Matrix::Constant(1, 1, 2.0));
}

TEST(MatrixMarket, ToleratesWhatOtherProgramsWrite) {
  Matrix expected(2, 2);
  expected << 1.5, 0, 0, -200;
  EXPECT_EQ(
      full(sparse(
          "%%MatrixMarket MATRIX Coordinate Double General\r\n%c\r\n2 2 2\r\n+1 1 +1.5\r\n\r\n"
          "% comment\r\n \t2\t2  -2.0D+02  \r\n")),
      expected);
  EXPECT_EQ(full(sparse("\xEF\xBB\xBF" + kCoordinate + "2 2 2\n1 1 1.5\n2 2 -200")), expected);
}

TEST(MatrixMarket, ManyMoreThanTwoToThe31Columns) {
  const SparseMatrix A = sparse(kCoordinate + "2 3000000000 2\n1 2999999999 4\n2 3000000000 5\n");
  EXPECT_EQ(A.cols(), 3000000000);
  EXPECT_EQ(A.coeff(1, 2999999999), 5);
  EXPECT_EQ(A.coeff(0, 2999999998), 4);
}

TEST(MatrixMarket, BadHeaders) {
  EXPECT_THAT(market_complaint(""), HasSubstr("x.mtx: the file is empty"));
  EXPECT_THAT(market_complaint("hello\n1 1 1\n"),
              HasSubstr("x.mtx:1: 'hello' is not a MatrixMarket header"));
  EXPECT_THAT(market_complaint(std::string("\x00\x01\xff\x7f", 4)),
              HasSubstr("x.mtx:1: '\\x00\\x01\\xff\\x7f' is not"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate complex general\n"),
              HasSubstr("x.mtx:1: field 'complex' is not supported; it must be one of: real, "
                        "double, integer, pattern"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate real hermitian\n"),
              HasSubstr("symmetry 'hermitian'"));
  EXPECT_THAT(market_complaint("%%MatrixMarket vector coordinate real general\n"),
              HasSubstr("object 'vector'"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix list real general\n"),
              HasSubstr("format 'list'"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate real\n"),
              HasSubstr("has 4 words; it must have 5"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix array pattern general\n1 1\n"),
              HasSubstr("pattern must be in coordinate"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate pattern skew-symmetric\n1 1 0\n"),
              HasSubstr("pattern cannot"));
  EXPECT_THAT(market_complaint(kCoordinate + "% only comments\n"),
              HasSubstr("x.mtx:3: the file ends before the line with the sizes"));
}

TEST(MatrixMarket, BadSizes) {
  EXPECT_THAT(market_complaint(kCoordinate + "0 0 0\n"),
              HasSubstr("x.mtx:2: number of rows: '0' is not a whole number in 1.."));
  EXPECT_THAT(market_complaint(kCoordinate + "2 0 0\n"), HasSubstr("number of columns: '0'"));
  EXPECT_THAT(market_complaint(kCoordinate + "2 2\n"),
              HasSubstr("'2 2' has 2 fields; it must have 3: rows columns entries"));
  EXPECT_THAT(market_complaint(kCoordinate + "2 2 -1\n"),
              HasSubstr("number of entries: '-1' is not a whole number in 0.."));
  EXPECT_THAT(market_complaint(kCoordinate + "2 x 1\n1 1 1\n"),
              HasSubstr("number of columns: 'x'"));
  EXPECT_THAT(market_complaint(kCoordinate + "2 99999999999999999999 1\n1 1 1\n"),
              HasSubstr("'99999999999999999999' is not a whole number"));
  EXPECT_THAT(market_complaint(kCoordinate + "900000000000000 900000000000000 0\n"),
              HasSubstr("more than the 9223372036854775807 places"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"),
              HasSubstr("must be square; this is 2 x 3"));
}

TEST(MatrixMarket, ClaimsThatTheFileCannotHoldAreRefusedBeforeMemoryIsTaken) {
  EXPECT_THAT(market_complaint(kCoordinate + "10 10 1000000000000000\n1 1 1\n"),
              HasSubstr("x.mtx:2: 1000000000000000 entries are declared; the rest of the file has "
                        "room for at most 1"));
  EXPECT_THAT(
      market_complaint("%%MatrixMarket matrix array real general\n30000000 30000000\n1\n"),
      HasSubstr(
          "900000000000000 entries are declared; the rest of the file has room for at most 1"));
  EXPECT_THROW(parse_matrix_market(kCoordinate + "1000000000000 1 0\n", "x.mtx"), FileError);
}

TEST(MatrixMarket, LyingCounts) {
  EXPECT_THAT(market_complaint(kCoordinate + "2 2 2\n1 1 1.00000\n"),
              HasSubstr("x.mtx:3: the file ends after 1 of the 2 entries that line 2 declares"));
  EXPECT_THAT(market_complaint(kCoordinate + "2 2 1\n1 1 1\n% c\n\n2 2 1\n"),
              HasSubstr("x.mtx:6: more than the 1 entries that line 2 declares"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3 \n"),
              HasSubstr("x.mtx:2: 3 values follow, but 2 x 2 needs 4"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix array real general\n1 2\n1\n2\n3\n"),
              HasSubstr("3 values follow, but 1 x 2 needs 2"));
}

TEST(MatrixMarket, BadEntries) {
  const auto entry = [](const std::string& line) {
    return market_complaint(kCoordinate + "2 3 2\n1 1 1.0000\n" + line + "\n");
  };
  EXPECT_THAT(entry("0 1 1"), HasSubstr("x.mtx:4: row: '0' is not a whole number in 1..2"));
  EXPECT_THAT(entry("3 1 1"), HasSubstr("x.mtx:4: row: '3' is not a whole number in 1..2"));
  EXPECT_THAT(entry("1 4 1"), HasSubstr("x.mtx:4: column: '4' is not a whole number in 1..3"));
  EXPECT_THAT(entry("1 0 1"), HasSubstr("column: '0' is not a whole number in 1..3"));
  EXPECT_THAT(entry("-1 1 1"), HasSubstr("row: '-1'"));
  EXPECT_THAT(entry("1.5 1 1"), HasSubstr("row: '1.5'"));
  EXPECT_THAT(entry("1 99999999999999999999 1"), HasSubstr("column: '99999999999999999999'"));
  EXPECT_THAT(entry("1 1 nan"),
              HasSubstr("x.mtx:4: value: 'nan' is not allowed; values must be finite"));
  EXPECT_THAT(entry("1 1 -Inf"), HasSubstr("value: '-Inf' is not allowed"));
  EXPECT_THAT(entry("1 1 1e999"), HasSubstr("value: '1e999' is beyond the largest double"));
  EXPECT_THAT(entry("1 1 abc"), HasSubstr("x.mtx:4: value: 'abc' is not a number"));
  EXPECT_THAT(entry("1 1 1.5x"), HasSubstr("value: '1.5x' is not a number"));
  EXPECT_THAT(entry("1 1"),
              HasSubstr("'1 1' has 2 fields; an entry must have 3: row column value"));
  EXPECT_THAT(entry("1 1 1 0"), HasSubstr("'1 1 1 0' has 4 fields; an entry must have 3"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 1 1\n"),
              HasSubstr("has 3 fields; an entry must have 2: row column"));
  EXPECT_THAT(
      market_complaint("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 1.5\n"),
      HasSubstr("x.mtx:3: value: '1.5' is not an integer, as the header says"));
  EXPECT_THAT(
      market_complaint("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 2 1\n"),
      HasSubstr("x.mtx:3: entry (2, 2) is on the diagonal"));
  EXPECT_THAT(market_complaint(kCoordinate + "2 2 2\n1 1 1e308\n1 1 1e308\n"),
              HasSubstr("in row 1 add up to more"));
}

TEST(MatrixMarket, BadValues) {
  const auto value = [](const std::string& line) {
    return market_complaint("%%MatrixMarket matrix array real general\n2 1\n1\n" + line + "\n");
  };
  EXPECT_THAT(value("nan"), HasSubstr("x.mtx:4: value: 'nan' is not allowed"));
  EXPECT_THAT(value("x"), HasSubstr("x.mtx:4: value: 'x' is not a number"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix array integer general\n1 2\n1 +"),
              HasSubstr("x.mtx:3: value: '+' is not a number"));
  EXPECT_THAT(value("1x"), HasSubstr("x.mtx:4: value: '1x' is not a number"));
  EXPECT_THAT(market_complaint("%%MatrixMarket matrix array integer general\n1 1\n0.5\n"),
              HasSubstr("'0.5' is not an integer"));
}

/// A file of several pieces in random order with duplicates, and the matrix that it represents.
std::string random_file(int entries, bool symmetric, Matrix& expected) {
  constexpr int kOrder = 150;
  expected = Matrix::Zero(kOrder, kOrder);
  std::mt19937 random(7);
  std::string text = symmetric ? "%%MatrixMarket matrix coordinate real symmetric\n" : kCoordinate;
  text += "150 150 " + std::to_string(entries) + "\n";
  for (int k = 0; k < entries; ++k) {
    const auto row = random() % kOrder;
    const auto col = random() % kOrder;
    const int value = static_cast<int>(random() % 2001) - 1000;
    text += std::to_string(row + 1) + " " + std::to_string(col + 1) + " " + std::to_string(value) +
            ".00000000000e0\n";
    expected(row, col) += value;
    if (symmetric && row != col) expected(col, row) += value;
  }
  return text;
}

TEST(MatrixMarket, LargeFilesInSeveralPiecesAndThreads) {
  const int before = threads();
  for (const bool symmetric : {false, true}) {
    Matrix expected;
    const std::string text = random_file(150000, symmetric, expected);
    ASSERT_GT(text.size(), 3U << 20);
    for (const int count : {1, 2, 3}) {
      set_threads(count);
      EXPECT_EQ(full(sparse(text)), expected);
    }
  }
  set_threads(before);
}

TEST(MatrixMarket, ErrorsFarInsideALargeFileHaveTheirLine) {
  Matrix ignored;
  std::string text = random_file(150000, false, ignored);
  const auto at = text.find('\n', text.size() - 1000) + 1;
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  std::string broken = text;
  broken.insert(at, "oops ");
  EXPECT_THAT(market_complaint(broken),
              HasSubstr("x.mtx:" + std::to_string(line) + ": row: 'oops'"));
  EXPECT_THAT(market_complaint(text + "1 1 1\n"),
              HasSubstr("x.mtx:150003: more than the 150000 entries"));
  text.resize(text.size() - 40);
  text.resize(text.rfind('\n') + 1);
  EXPECT_THAT(market_complaint(text), HasSubstr("of the 150000 entries that line 2 declares"));
}

// Sums depend on their order, so equal bits show that the order of the file is used.
TEST(MatrixMarket, SumsOfDuplicatesHaveTheSameBitsForAnyThreadCount) {
  std::string text = kCoordinate + "3 3 200000\n";
  std::mt19937 random(3);
  for (int k = 0; k < 200000; ++k) {
    text += std::to_string(random() % 3 + 1) + " " + std::to_string(random() % 3 + 1) + " 0." +
            std::to_string(random()) + "\n";
  }
  const int before = threads();
  set_threads(1);
  const Matrix first = full(sparse(text));
  for (const int count : {2, 3}) {
    set_threads(count);
    EXPECT_EQ(full(sparse(text)), first);
  }
  set_threads(before);
}

TEST(MatrixMarket, WrittenFilesReadBackToTheBit) {
  const std::string path = test::temporary_dir() + "/a.mtx";
  std::mt19937_64 random(5);
  Matrix A(7, 4);
  for (Index k = 0; k < A.size(); ++k)
    A.data()[k] = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
  A(0, 0) = 5e-324;
  A(1, 0) = -1.7976931348623157e308;
  write_matrix_market(path, A);
  EXPECT_EQ(std::get<Matrix>(read_matrix_market(path)), A);
  const SparseMatrix S = A.sparseView();
  write_matrix_market(path, S);
  EXPECT_EQ(full(std::get<SparseMatrix>(read_matrix_market(path))), A);
  const Matrix symmetric = A.topRows(4) + A.topRows(4).transpose();
  write_matrix_market(path, SparseMatrix(symmetric.sparseView()), true);
  EXPECT_EQ(full(std::get<SparseMatrix>(read_matrix_market(path))), symmetric);
}

TEST(MatrixMarket, RefusesToWrite) {
  const std::string folder = test::temporary_dir();
  EXPECT_THROW(write_matrix_market(folder + "/a.mtx", Matrix(0, 3)), InvalidArgument);
  EXPECT_THROW(write_matrix_market(folder + "/a.mtx", Matrix::Constant(1, 1, std::nan(""))),
               InvalidArgument);
  EXPECT_THROW(write_matrix_market(folder + "/a.mtx", SparseMatrix(2, 3), true), InvalidArgument);
  EXPECT_THROW(write_matrix_market(folder + "/none/a.mtx", Matrix::Ones(1, 1)), FileError);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(MatrixMarket, TheSharedMatricesAreRead) {
  const std::string folder = test::shared_matrices();
  if (folder.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  int read = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".mtx") continue;
    const FileMatrix matrix = read_matrix_market(entry.path().string());
    EXPECT_GT(std::visit([](const auto& A) { return A.squaredNorm(); }, matrix), 0) << entry.path();
    ++read;
  }
  EXPECT_GE(read, 40);
  const SparseMatrix mesh =
      std::get<SparseMatrix>(read_matrix_market(folder + "/surface_mesh/mesh2e1.mtx"));
  EXPECT_EQ(mesh.rows(), 306);
  EXPECT_EQ(mesh.nonZeros(), 2018);
}

}  // namespace
}  // namespace matapprox
