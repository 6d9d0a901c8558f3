#include "best/trials.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::choosing {
namespace {

using testing::HasSubstr;

/// Small integers, which are exact in floats as in doubles.
Matrix small_integers(Index rows, Index cols) {
  return (10 * test::random_matrix(rows, cols).array()).round().matrix();
}

RunResult stored_as(const Matrix& A, Precision precision) {
  return {Approximation({make_factor("A", A)}, {}, false, precision), 0.01};
}

BestCandidate named(const std::string& name) {
  BestCandidate candidate;
  candidate.name = name;
  candidate.method = "hierarchical";
  return candidate;
}

struct Search {
  explicit Search(const Matrix& values, BestOptions options = {})
      : A(values), facts(describe(A)), trials(A, facts, std::move(options), control, events) {}
  DenseOperator A;
  MatrixFacts facts;
  RunControl control;
  BestEvents events;
  Trials trials;
};

StorageBudget budget_of(double bytes) {
  return {StorageBudget::Unit::kBytes, bytes, Precision::kDouble};
}

TEST(Trials, OfEqualErrorsTheFewerBytesWin) {
  const Matrix values = small_integers(20, 30);
  for (const bool floats_first : {false, true}) {
    Search search(values, {.budget = budget_of(1e6)});
    for (const bool floats : {floats_first, !floats_first}) {
      const Precision precision = floats ? Precision::kFloat : Precision::kDouble;
      search.trials.try_result(named(floats ? "floats" : "doubles"), stored_as(values, precision));
    }
    EXPECT_EQ(search.trials.candidates()[search.trials.chosen()].name, "floats");
  }
}

TEST(Trials, KeepNothingThatIsLargerThanTheBudget) {
  const Matrix values = small_integers(20, 30);
  Search search(values, {.budget = budget_of(8 * 600 - 1)});
  search.trials.try_result(named("doubles"), stored_as(values, Precision::kDouble));
  EXPECT_FALSE(search.trials.has_result());
  EXPECT_THAT(search.trials.candidates().back().verdict, HasSubstr("more than the budget"));
  search.trials.try_result(named("floats"), stored_as(values, Precision::kFloat));
  EXPECT_TRUE(search.trials.has_result());
}

TEST(Trials, ABoundThatDecidesIsOneOfTwelve) {
  const Matrix values = test::random_matrix(150, 150);
  Search search(values, {.target_error = 0.5, .norm = CertifiedNorm::kSpectral, .confidence = 0.9});
  search.trials.know_spectral_norm(kernels::singular_values(values)(0));
  const Matrix near = values + 0.01 * test::random_matrix(150, 150, 2);
  search.trials.try_result(named("near"), stored_as(near, Precision::kDouble));
  ASSERT_TRUE(search.trials.deciding());
  EXPECT_NEAR(search.trials.deciding()->spectral->confidence, 1 - 0.1 / 12, 1e-12);
  EXPECT_TRUE(search.trials.target_is_met());
}

TEST(Trials, SayTheLeastThatWouldDo) {
  Search search(small_integers(4, 4), {.budget = budget_of(5)});
  EXPECT_EQ(search.trials.too_small(), "");
  for (const auto& [name, least] :
       {std::pair<const char*, double>{"a", 100}, {"b", 49.5}, {"c", 0}, {"d", 80}}) {
    search.trials.note_too_small(named(name), BudgetTooSmall("too small", least));
  }
  EXPECT_THAT(search.trials.too_small(), HasSubstr("b, takes at least 50 bytes"));
}

}  // namespace
}  // namespace matapprox::choosing
