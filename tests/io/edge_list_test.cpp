#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

using ::testing::HasSubstr;

Matrix edges(const std::string& text, bool directed = false) {
  return Matrix(parse_edge_list(text, "x.edges", directed));
}

std::string edges_complaint(const std::string& text) {
  return test::complaint_of([&] { edges(text); });
}

Matrix path_graph() {
  Matrix A(3, 3);
  A << 0, 1, 0, 1, 0, 2, 0, 2, 0;
  return A;
}

TEST(EdgeList, NodesCountFromZeroIfThereIsAZero) {
  EXPECT_EQ(edges("0 1\n1 2 2\n"), path_graph());
  EXPECT_EQ(edges("1 2\n2 3 2\n"), path_graph());
}

TEST(EdgeList, CommentsSeparatorsAndLineEnds) {
  EXPECT_EQ(edges("# c\r\n% c\r\n\r\n1\t2\r\n 2,3,2.0 \r\n"), path_graph());
}

TEST(EdgeList, DirectedKeepsTheDirection) {
  Matrix A = Matrix::Zero(3, 3);
  A(0, 1) = 1;
  A(1, 2) = 2;
  EXPECT_EQ(edges("1 2\n2 3 2\n", true), A);
}

TEST(EdgeList, ParallelEdgesAddUpAndLoopsCountOnce) {
  Matrix A(2, 2);
  A << 4, 3, 3, 0;
  EXPECT_EQ(edges("1 1 4\n1 2\n1 2 2\n"), A);
  EXPECT_EQ(edges("1 2\n2 1 2\n1 1 4\n"), A);  // the two directions have different weights: two
                                               // edges
}

TEST(EdgeList, AListWithBothDirectionsIsTakenAsItIs) {
  EXPECT_EQ(edges("1 2\n2 1\n2 3 2\n3 2 2\n"), path_graph());
}

TEST(EdgeList, WeightsThatCancelAreNotStored) {
  EXPECT_EQ(parse_edge_list("1 2 1\n1 2 -1\n3 1\n", "x", true).nonZeros(), 1);
}

TEST(EdgeList, SingleLoop) {
  EXPECT_EQ(edges("1 1\n"), Matrix::Ones(1, 1));
  EXPECT_EQ(edges("0 0\n"), Matrix::Ones(1, 1));
}

TEST(EdgeList, RandomGraphAgainstTheDefinition) {
  std::mt19937 random(11);
  Matrix expected = Matrix::Zero(60, 60);
  std::string text = "60 60 1\n";
  expected(59, 59) = 1;
  for (int k = 0; k < 2000; ++k) {
    const auto u = random() % 60;
    const auto v = random() % 60;
    const int weight = static_cast<int>(random() % 9) + 1;
    text +=
        std::to_string(u + 1) + " " + std::to_string(v + 1) + " " + std::to_string(weight) + "\n";
    expected(u, v) += weight;
    if (u != v) expected(v, u) += weight;
  }
  EXPECT_EQ(edges(text), expected);
}

TEST(EdgeList, Refusals) {
  EXPECT_THAT(edges_complaint(""), HasSubstr("x.edges: the file is empty"));
  EXPECT_THAT(edges_complaint("# nothing\n"), HasSubstr("x.edges: no edge"));
  EXPECT_THAT(edges_complaint("1 2\nanna bert\n"),
              HasSubstr("x.edges:2: node: 'anna' is not a whole number"));
  EXPECT_THAT(edges_complaint("1 2\nanna bert\n"), HasSubstr("names must be replaced by numbers"));
  EXPECT_THAT(edges_complaint("1 2\n3 bert\n"), HasSubstr("x.edges:2: node: 'bert'"));
  EXPECT_THAT(edges_complaint("1 2\n3\n"),
              HasSubstr("x.edges:2: '3' has 1 fields; an edge must have 2 or 3"));
  EXPECT_THAT(edges_complaint("1 2 3 4\n"), HasSubstr("has 4 fields"));
  EXPECT_THAT(edges_complaint("0 1\n,12 5"),
              HasSubstr("x.edges:2: ',12 5' starts with a separator"));
  EXPECT_THAT(edges_complaint("1 2 -"), HasSubstr("weight: '-' is not a number"));
  EXPECT_THAT(edges_complaint("1 -2\n"), HasSubstr("node: '-2'"));
  EXPECT_THAT(edges_complaint("1 2 x\n"), HasSubstr("x.edges:1: weight: 'x' is not a number"));
  EXPECT_THAT(edges_complaint("1 2 nan\n"), HasSubstr("weight: 'nan' is not allowed"));
  EXPECT_THAT(edges_complaint("1 99999999999999999999\n"),
              HasSubstr("node: '99999999999999999999'"));
  EXPECT_THROW(edges("1 999999999999999998\n"), FileError);
}

Matrix pajek(const std::string& text) { return Matrix(parse_pajek(text, "x.net")); }

std::string pajek_complaint(const std::string& text) {
  return test::complaint_of([&] { pajek(text); });
}

TEST(Pajek, EdgesGoBothWaysAndArcsOne) {
  Matrix A(3, 3);
  A << 0, 1, 0, 1, 0, 2.5, -1, 0, 3;
  EXPECT_EQ(pajek("*Vertices 3\r\n1 \"a b\" 0.1 0.2\r\n2 \"*\"\r\n% comment\r\n*Edges\r\n1 2\r\n"
                  "*Arcs :1 \"likes\"\r\n2 3 2.5 c Blue\r\n3 1 -1 [1-3]\r\n*EDGES :2\r\n3 3 3\r\n"),
            A);
}

TEST(Pajek, AttributesWithoutAWeight) {
  EXPECT_EQ(pajek("*Vertices 2\n*Edges\n1 2 c Blue l \"x\"\n"), (Matrix{{0, 1}, {1, 0}}));
  EXPECT_EQ(pajek("*Vertices 2\n*Edges\n1 2 [5-*]\n"), (Matrix{{0, 1}, {1, 0}}));
}

TEST(Pajek, NeighborLists) {
  Matrix A(3, 3);
  A << 0, 1, -1, 1, 0, 0, 0, 1, 0;
  EXPECT_EQ(pajek("*Vertices 3\n*Edgeslist\n1 2\n*Arcslist\n1 -3\n3 2\n"), A);
}

TEST(Pajek, MatrixSection) {
  EXPECT_EQ(pajek("*Vertices 2\n*Matrix\n0 1.5\n-2 0\n"), (Matrix{{0, 1.5}, {-2, 0}}));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Matrix\n0 1\n"),
              HasSubstr("'*Matrix' has 1 rows; it must have 2"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Matrix\n0\n"),
              HasSubstr("x.net:3: 1 numbers in a row of '*Matrix'; it must have 2"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Matrix\n0 1 2\n"),
              HasSubstr("x.net:3: more than 2 numbers"));
  EXPECT_THAT(pajek_complaint("*Vertices 1\n*Matrix\n0\n0\n"),
              HasSubstr("x.net:4: more than the 1 rows"));
}

TEST(Pajek, OtherSectionsAreSkipped) {
  EXPECT_EQ(pajek("*Network x\n*Vertices 2\n*Arcs\n1 2\n*Partition p\n*Vertices 2\n1\n2\n*Vector "
                  "v\n*Vertices 2\n0.5\n1\n"),
            (Matrix{{0, 1}, {0, 0}}));
}

TEST(Pajek, NoEdgesIsTheZeroMatrix) { EXPECT_EQ(pajek("*Vertices 2\n"), Matrix::Zero(2, 2)); }

TEST(Pajek, Refusals) {
  EXPECT_THAT(pajek_complaint(""), HasSubstr("x.net: the file is empty"));
  EXPECT_THAT(pajek_complaint("% c\n"), HasSubstr("no '*Vertices' line"));
  EXPECT_THAT(pajek_complaint("1 2\n"), HasSubstr("x.net:1: '1 2' stands before '*Vertices'"));
  EXPECT_THAT(pajek_complaint("*Edges\n"),
              HasSubstr("x.net:1: '*Edges' stands before '*Vertices'"));
  EXPECT_THAT(pajek_complaint("*Vertices 0\n"),
              HasSubstr("x.net:1: number of vertices: '0' is not a whole number in 1.."));
  EXPECT_THAT(pajek_complaint("*Vertices\n"),
              HasSubstr("number of vertices: a whole number in 1.."));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Edges\n1 3\n"),
              HasSubstr("x.net:3: vertex: '3' is not a whole number in 1..2"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Edges\n0 1\n"), HasSubstr("x.net:3: vertex: '0'"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Edges\n1\n"),
              HasSubstr("x.net:3: vertex: a whole number in 1..2 is missing"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Arcs\n1 2 nan\n"),
              HasSubstr("x.net:3: weight: 'nan' is not allowed"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Arcs\n1 2 -"),
              HasSubstr("x.net:3: weight: '-' is not a number"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Arcs\n1 2 1.2.3\n"),
              HasSubstr("weight: '1.2.3' is not a number"));
  EXPECT_THAT(pajek_complaint("*Vertices 2\n*Vertices 2\n"),
              HasSubstr("x.net:2: a second '*Vertices'"));
  EXPECT_THROW(pajek("*Vertices 999999999999999999\n"), FileError);
}

TEST(Pajek, SectionsThatAreNotKnownAreRefused) {
  const std::string network = "*Vertices 2\n*Arcs\n1 2 3\n";
  EXPECT_THAT(pajek_complaint(network + "*Acrs\n2 1 5\n"),
              HasSubstr("x.net:4: '*Acrs' is not a supported section: *network, *vertices"));
  EXPECT_THAT(pajek_complaint(network + "*Events\n"), HasSubstr("x.net:4: '*Events'"));
  EXPECT_THAT(pajek_complaint(network + "*\n"),
              HasSubstr("x.net:4: '*' is not a supported section"));
  EXPECT_EQ(parse_pajek(network + "*Partition degree\n*Vertices 2\n1\n1\n", "x.net").nonZeros(), 1);
}

}  // namespace
}  // namespace matapprox
