#include "reproduce/paper.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "matapprox/core/error.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<PaperMatrix>& rows) {
  std::vector<std::string> names;
  for (const PaperMatrix& row : rows) names.push_back(row.name);
  return names;
}

TEST(Paper, TheListIsTheOneInMatrices) {
  EXPECT_EQ(reproduction::paper_csv(), read_file(source_dir() + "/matrices/paper.csv"));
}

TEST(Paper, HasTheRowsOfBothTables) {
  EXPECT_EQ(select_matrices(PaperTable::kTable1, {}).size(), 27U);
  EXPECT_EQ(select_matrices(PaperTable::kFigure4, {}).size(), 22U);
  EXPECT_EQ(select_matrices(PaperTable::kTable1, {}).front().name, "AuraSonar");
  EXPECT_EQ(select_matrices(PaperTable::kTable1, {}).back().name, "Votes");
  EXPECT_EQ(select_matrices(PaperTable::kFigure4, {}).front().category, "image");
  std::set<std::string> file_names;
  for (const PaperMatrix& row : paper_matrices()) {
    EXPECT_TRUE(file_names.insert(row.file_name()).second) << row.name;
    EXPECT_EQ(row.sha256.size(), 64U) << row.name;
    EXPECT_EQ(row.mtx_sha256.size(), row.table() == PaperTable::kTable1 ? 64U : 0U) << row.name;
  }
}

// Statement of the paper: SF has the smaller error on 19 of the 27, and on all networks.
TEST(Paper, PrintedErrorsCountAsThePaperCountsThem) {
  int sf_wins = 0;
  for (const PaperMatrix& row : select_matrices(PaperTable::kTable1, {})) {
    const bool sf = row.paper_sf().value() < row.paper_tsvd().value();
    sf_wins += sf ? 1 : 0;
    if (row.category == "network") {
      EXPECT_TRUE(sf) << row.name;
    }
    EXPECT_NEAR(row.paper_tsvd().value(), row.tsvd_error, 0.0051 * row.tsvd_error) << row.name;
  }
  EXPECT_EQ(sf_wins, 19);
  int known = 0;
  for (const PaperMatrix& row : select_matrices(PaperTable::kFigure4, {}))
    known += row.paper_sf().has_value() ? 1 : 0;
  EXPECT_EQ(known, 9);
}

TEST(Paper, RowsAreFoundByNameFileAndCategory) {
  const auto table1 = [](const std::vector<std::string>& words) {
    return names_of(select_matrices(PaperTable::kTable1, words));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(table1({"votes", "mexican_power"}), (Names{"Mexican Power", "Votes"}));
  EXPECT_EQ(table1({"Shuttle Entry"}), (Names{"Shuttle Entry"}));
  EXPECT_EQ(table1({"shuttleentry"}), (Names{"Shuttle Entry"}));
  EXPECT_EQ(table1({"covtype"}), (Names{"Covertype"}));
  EXPECT_EQ(table1({"network"}).size(), 7U);
  EXPECT_EQ(names_of(select_matrices(PaperTable::kFigure4, {"ship"})), (Names{"ship"}));
  EXPECT_EQ(names_of(select_matrices(PaperTable::kFigure4, {"ship (gradient)"})),
            (Names{"ship (gradient)"}));
}

TEST(Paper, AnUnknownRowIsAnsweredWithTheNearest) {
  try {
    select_matrices(PaperTable::kTable1, {"Strik"});
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("table1: no row is called 'Strik'; did you mean 'Strike'?"));
  }
  EXPECT_THROW(select_matrices(PaperTable::kTable1, {"ship"}), InvalidArgument);
}

TEST(Paper, RankIsThatOfTheComparison) {
  EXPECT_EQ(paper_rank(306), 41);
  EXPECT_EQ(paper_rank(256), 32);
  EXPECT_EQ(paper_rank(560), 50);
  EXPECT_EQ(paper_rank(16), 8);
  EXPECT_EQ(paper_rank(3), 2);
}

}  // namespace
}  // namespace matapprox::test
