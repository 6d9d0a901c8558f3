#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using ::testing::HasSubstr;

Matrix table(const std::string& text) { return parse_delimited(text, "x.csv"); }

std::string table_complaint(const std::string& text) {
  return test::complaint_of([&] { table(text); });
}

Matrix two_by_two() {
  Matrix A(2, 2);
  A << 1, 2.5, -3, 4e2;
  return A;
}

TEST(Delimited, EachSeparatorIsFound) {
  EXPECT_EQ(table("1,2.5\n-3,4e2\n"), two_by_two());
  EXPECT_EQ(table("1;2.5\n-3;4e2\n"), two_by_two());
  EXPECT_EQ(table("1\t2.5\n-3\t4e2\n"), two_by_two());
  EXPECT_EQ(table("1 2.5\n-3 4e2\n"), two_by_two());
  EXPECT_EQ(table("   1    2.5\n -3\t 4D2  "), two_by_two());
  EXPECT_EQ(table(" 1 , 2.5 \r\n\r\n# comment\r\n-3,\t4e2\r\n"), two_by_two());
  EXPECT_EQ(table("\xEF\xBB\xBF"
                  "1,2.5\n-3,4e2"),
            two_by_two());
}

TEST(Delimited, HeaderIsSkipped) {
  EXPECT_EQ(table("x,y\n1,2.5\n-3,4e2\n"), two_by_two());
  EXPECT_EQ(table("\"a, b\";\"c;d\"\n1;2.5\n-3;4e2\n"), two_by_two());
  EXPECT_EQ(table("# written by a program\n\nfirst second name\n1 2.5\n-3 4e2\n"), two_by_two());
}

TEST(Delimited, OneRowAndOneColumn) {
  EXPECT_EQ(table("7"), Matrix::Constant(1, 1, 7.0));
  EXPECT_EQ(table("1\n2\n3\n"), Matrix(Vector{{1, 2, 3}}));
  EXPECT_EQ(table("1,2,3\n"), Matrix(Vector{{1, 2, 3}}.transpose()));
}

TEST(Delimited, RaggedRows) {
  EXPECT_THAT(table_complaint("1,2\n3\n"), HasSubstr("x.csv:2: 1 cells; the rows before have 2"));
  EXPECT_THAT(table_complaint("h\n1 2\n\n3 4 5\n"),
              HasSubstr("x.csv:4: 3 cells; the rows before have 2"));
}

TEST(Delimited, BadCells) {
  EXPECT_THAT(table_complaint("1,2\n3,\n"),
              HasSubstr("x.csv:2: column 2: the cell is empty; it must hold a number"));
  EXPECT_THAT(table_complaint("1,2\n,3\n"), HasSubstr("x.csv:2: column 1: the cell is empty"));
  EXPECT_THAT(table_complaint("1\t2\n3\t\t4\n"), HasSubstr("x.csv:2: column 2: the cell is empty"));
  EXPECT_THAT(table_complaint("1,2,\n3,4,\n"), HasSubstr("x.csv:1: column 3: the cell is empty"));
  EXPECT_THAT(table_complaint("1,2\n3,x\n"), HasSubstr("x.csv:2: column 2: 'x' is not a number"));
  EXPECT_THAT(table_complaint("1\t2\n3\t-"), HasSubstr("x.csv:2: column 2: '-' is not a number"));
  EXPECT_THAT(table_complaint("1;2\n3;1,5\n"),
              HasSubstr("x.csv:2: column 2: '1,5' is not a number"));
  EXPECT_THAT(table_complaint("1,2\n3,\"4\"\n"), HasSubstr("column 2: '\"4\"' is not a number"));
  EXPECT_THAT(table_complaint("1,2\nnan,4\n"),
              HasSubstr("x.csv:2: column 1: 'nan' is not allowed; values must be finite"));
  EXPECT_THAT(table_complaint("nan,inf\n3,4\n"),
              HasSubstr("x.csv:1: column 1: 'nan' is not allowed"));
  EXPECT_THAT(table_complaint("1\n1e999\n"),
              HasSubstr("x.csv:2: column 1: '1e999' is beyond the largest double"));
}

TEST(Delimited, NothingToRead) {
  EXPECT_THAT(table_complaint(""), HasSubstr("x.csv: the file is empty"));
  EXPECT_THAT(table_complaint("\n# only\n\n"), HasSubstr("x.csv: no row of numbers"));
  EXPECT_THAT(table_complaint("a,b\n"), HasSubstr("no row of numbers"));
  EXPECT_THAT(table_complaint(std::string("\x00\x01\x02\n\x03\n", 6)),
              HasSubstr("x.csv:2: column 1: '\\x03' is not a number"));
}

TEST(Delimited, WrittenFilesReadBackToTheBit) {
  const std::string path = test::temporary_dir() + "/a.csv";
  Matrix A(3, 2);
  A << 0.1, -1e-300, 1.0 / 3, 5e-324, -0.0, 1.7976931348623157e308;
  write_csv(path, A);
  EXPECT_EQ(read_delimited(path), A);
  EXPECT_THROW(write_csv(path, Matrix(0, 0)), InvalidArgument);
  EXPECT_THROW(write_csv(path, Matrix::Constant(1, 1, std::numeric_limits<double>::infinity())),
               InvalidArgument);
  EXPECT_EQ(read_delimited(path), A);
}

TEST(Delimited, SharedPointsAreRead) {
  const std::string folder = test::shared_matrices();
  if (folder.empty()) GTEST_SKIP() << "the paper's matrices are not here";
  const Matrix points = read_delimited(folder + "/extra/pendigits_tes.csv");
  EXPECT_EQ(points.rows(), 3498);
  EXPECT_EQ(points.cols(), 17);
}

TEST(Delimited, AHeaderIsNotedAndARowWithAMistakeIsNone) {
  std::vector<std::string> notes;
  EXPECT_EQ(parse_delimited("\na,b\n1,2.5\n-3,4e2\n", "x.csv", &notes), two_by_two());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0], "line 2 is treated as a header: 'a,b'");
  notes.clear();
  parse_delimited("1,2.5\n-3,4e2\n", "x.csv", &notes);
  EXPECT_TRUE(notes.empty());

  EXPECT_THAT(
      table_complaint("1,2x\n3,4\n"),
      HasSubstr("x.csv:1: column 2: '2x' is not a number; a header line must not contain numbers"));
  EXPECT_THAT(table_complaint("year 2020 2021\n1 2 3\n"), HasSubstr("column 1: 'year'"));
  EXPECT_THAT(table_complaint("NaN,b\n1,2\n"), HasSubstr("column 1"));
  // Below a header the same mistake is reported for its row.
  EXPECT_THAT(table_complaint("a,b\n1,2x\n"), testing::EndsWith("'2x' is not a number"));
}

}  // namespace
}  // namespace matapprox
