#include "report/findings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace matapprox::report {
namespace {

using testing::HasSubstr;

ComparisonRow row(const std::string& method, Index numbers, double error) {
  ComparisonRow made;
  made.method = method;
  made.storage = Storage{numbers, 8 * numbers};
  made.storage_share = static_cast<double>(numbers) / 10000;
  made.measurement = Measurement{};
  made.measurement->relative_error = error;
  made.measurement->worse_than_zero = error > 1;
  made.fit_seconds = 0.1;
  made.termination = Termination::kCompleted;
  return made;
}

Comparison comparison(std::vector<ComparisonRow> rows) {
  Comparison made;
  made.facts.rows = made.facts.cols = 100;
  made.basis = "equal storage: 1000 numbers";
  made.rows = std::move(rows);
  return made;
}

TEST(Findings, TheWinnerComesFirstAndByHowMuch) {
  const auto found = findings_of(comparison({row("cur", 900, 0.2), row("chord", 1000, 0.05)}));
  EXPECT_EQ(found[0],
            "Chord has the smallest error: a relative error of 0.05 with 8,000 stored bytes. The "
            "next, CUR (0.2), has 4.0 times that.");
  EXPECT_EQ(found[1], "Chord stores 10 % of the bytes of the full matrix in doubles.");
}

TEST(Findings, IsCloseBehindOnlyWithSimilarBytes) {
  const auto next_to_the_best = [](Index numbers, double error) {
    return findings_of(comparison({row("cur", numbers, error), row("chord", 1000, 0.05)}))[0];
  };
  EXPECT_THAT(next_to_the_best(900, 0.051), HasSubstr("CUR (0.051) is close behind."));
  EXPECT_THAT(next_to_the_best(300, 0.051), HasSubstr("The next is CUR, 0.051 with 2,400 bytes."));
  const auto exact = findings_of(comparison({row("hierarchical", 900, 0), row("cur", 900, 0.1)}));
  EXPECT_THAT(exact[0], HasSubstr("The next, CUR, has 0.1."));
}

TEST(Findings, AMatrixThatTakesLessAsItIsIsSaid) {
  ComparisonRow as_is = row("as_is", 300, 0);
  as_is.form = "sparse, 300 stored entries";
  EXPECT_THAT(
      findings_of(comparison({as_is, row("cur", 900, 0.2)})),
      testing::Contains("But the matrix in its given form (sparse, 300 stored entries) takes "
                        "only 2,400 bytes, 3.0 times fewer, and has no error."));
}

TEST(Findings, NothingCompressed) {
  EXPECT_THAT(
      findings_of(comparison({row("cur", 10000, 0.1), row("chord", 12000, 0.2)})),
      testing::Contains("Nothing is compressed here: the full matrix has only 10,000 numbers."));
  EXPECT_THAT(findings_of(comparison({row("cur", 500, 0.1), row("chord", 12000, 0.2)})),
              testing::Contains(HasSubstr("No compression: Chord stores at least the 10,000")));
}

TEST(Findings, WorseThanZeroFailedAndEstimatedAreSaid) {
  ComparisonRow failed;
  failed.method = "nystrom";
  failed.status = "nystrom: the matrix is not square";
  ComparisonRow estimated = row("jl_projection", 900, 1.5);
  estimated.measurement->error_is_exact = false;
  const auto found = findings_of(comparison({failed, estimated}));
  EXPECT_THAT(found[0], HasSubstr("a relative error of about 1.5 with"));
  EXPECT_THAT(found[0], HasSubstr("no better than the zero matrix"));
  EXPECT_THAT(found,
              testing::Contains("Nyström produced no result: nystrom: the matrix is not square."));
  EXPECT_THAT(found, testing::Contains("Worse than the zero matrix: JL projection."));
  EXPECT_EQ(findings_of(comparison({failed}))[0], "No method produced a result.");
}

TEST(Findings, ByTargetErrorTheLeastStorageWins) {
  Comparison made = comparison({row("cur", 900, 0.01), row("chord", 300, 0.05)});
  made.basis = "least storage with relative error 0.05";
  EXPECT_THAT(findings_of(made)[0], HasSubstr("Chord needs the fewest bytes, 2,400"));
  EXPECT_EQ(winner_of(made)->method, "chord");
}

}  // namespace
}  // namespace matapprox::report
