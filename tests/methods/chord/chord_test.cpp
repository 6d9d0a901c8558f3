#include "matapprox/methods/chord.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/chord/chain.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using test::chain_of;
using test::chord_matrix;
using test::random_chain;
using test::random_matrix;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Chord, OrdersOneAndTwoAreFittedExactly) {
  // One factor stores the whole matrix, so the problem is linear least squares without residual.
  for (const Index n : {1, 2}) {
    const Matrix A = 1e3 * random_matrix(n, n);
    const Approximation result = chord(DenseOperator(A));
    EXPECT_LE(test::relative_chain_error(A, result), 1e-14) << n;
    EXPECT_EQ(result.summary.termination, Termination::kConverged);
    EXPECT_EQ(result.storage().numbers, n * n);
  }
}

TEST(Chord, OfAnyOrderReportsTheErrorItHas) {
  for (const Index n : {3, 5, 16, 37}) {
    const Matrix A = random_matrix(n, n);
    const Approximation result =
        chord(DenseOperator(A),
              {.starts = 1, .adam_steps = 200, .max_iterations = 50, .newton_steps = 0});
    const double error = test::relative_chain_error(A, result);
    EXPECT_NEAR(result.summary.history.back().relative_error, error, 1e-12) << n;
    EXPECT_LT(error, 0.7) << n;
    EXPECT_EQ(chain_of(result).pattern, chord_alternating_pattern(n));
    EXPECT_EQ(result.summary.method, "chord");
    EXPECT_EQ(result.summary.form, "alternating");
  }
}

TEST(Chord, FindsAProductOfChordFactors) {
  // Newton steps find the minimum, which exists, to the last digit.
  const ChordFactors hidden = random_chain(chord_alternating_pattern(12));
  const Matrix A = chord_matrix(hidden);
  EXPECT_LE(test::relative_chain_error(
                A, chord(DenseOperator(A), {.starts = 4, .adam_steps = 2000, .newton_steps = 50})),
            1e-13);
}

Matrix symmetric_part(const Matrix& A) { return (A + A.transpose()) / 2; }

double symmetrized_error(const Matrix& A, const Approximation& result) {
  return (A - symmetric_part(chord_matrix(chain_of(result)))).norm() / A.norm();
}

TEST(Chord, FindsASymmetricPartOfAProduct) {
  const ChordFactors hidden = random_chain(chord_alternating_pattern(12));
  const Matrix A = symmetric_part(chord_matrix(hidden));
  const Approximation result = chord(
      DenseOperator(A), {.symmetrize = true, .starts = 4, .adam_steps = 2000, .newton_steps = 50});
  EXPECT_TRUE(result.symmetrized());
  EXPECT_EQ(result.summary.form, "alternating, symmetrized");
  EXPECT_LE(symmetrized_error(A, result), 1e-13);
}

TEST(Chord, SymmetrizedReportsTheErrorItHas) {
  const Matrix A = symmetric_part(random_matrix(90, 90));
  const Approximation result =
      chord(DenseOperator(A), {.symmetrize = true, .adam_steps = 200, .max_iterations = 20});
  EXPECT_NEAR(result.summary.history.back().relative_error, symmetrized_error(A, result), 1e-12);
  const Matrix product = result.apply(Matrix::Identity(90, 90));
  EXPECT_CLOSE(product, product.transpose(), 1e-14);
  EXPECT_NEAR((A - product).norm() / A.norm(), symmetrized_error(A, result), 1e-12);
}

TEST(Chord, OnlyASymmetricMatrixIsSymmetrized) {
  EXPECT_REFUSED(InvalidArgument,
                 chord(DenseOperator(random_matrix(9, 9)), {.symmetrize = true}),
                 "symmetrize requires a symmetric matrix");
}

/// For noise, the symmetric part has twice as many free numbers per entry.
TEST(Chord, AutoTakesTheFormThatFitsAndSaysWhatItTried) {
  const Index n = 90;
  const Matrix noise = random_matrix(n, n);
  const ChordOptions brief{.pattern = ChordFitPattern::kAuto, .max_iterations = 30};
  ChordOptions steps = brief;
  steps.adam_steps = 600;
  const Approximation symmetric = chord(DenseOperator(symmetric_part(noise)), steps);
  EXPECT_THAT(symmetric.summary.form, HasSubstr("symmetrized"));
  EXPECT_TRUE(symmetric.symmetrized());
  EXPECT_THAT(symmetric.summary.message,
              AllOf(HasSubstr("after 200 steps: mixed_radix, symmetrized 0."),
                    HasSubstr(", alternating 0.")));
  const Approximation plain = chord(DenseOperator(noise), steps);
  EXPECT_FALSE(plain.symmetrized());
  EXPECT_THAT(plain.summary.message, Not(HasSubstr("symmetrized")));
  EXPECT_NEAR(
      plain.summary.history.back().relative_error, test::relative_chain_error(noise, plain), 1e-12);
}

TEST(Chord, AutoOfASmallMatrixIsNoWorseThanOneOfItsPatterns) {
  const Matrix A = symmetric_part(random_matrix(20, 20));
  ChordOptions options{.starts = 1, .adam_steps = 100, .max_iterations = 30, .newton_steps = 2};
  const double alternating = test::relative_chain_error(A, chord(DenseOperator(A), options));
  options.pattern = ChordFitPattern::kAuto;
  options.starts = 5;
  const Approximation result = chord(DenseOperator(A), options);
  EXPECT_LE(result.summary.history.back().relative_error, alternating);
  EXPECT_THAT(result.summary.message, HasSubstr("the best of 5 forms tried in turn"));
}

TEST(Chord, AWarmStartBringsItsPatternAlong) {
  const auto start =
      std::make_shared<ChordFactors>(random_chain(chord_mixed_radix_pattern(20, 25)));
  const DenseOperator A(chord_matrix(*start));
  const Approximation result = chord(A, {.warm_start = start});
  EXPECT_EQ(chain_of(result).pattern, start->pattern);
  EXPECT_EQ(result.summary.form, "as its start");
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.pattern = ChordFitPattern::kReference, .warm_start = start}),
                 "the pattern of the warm start differs");
}

TEST(Chord, AWarmStartObeysTheBudgetAndNoChoice) {
  const auto start = std::make_shared<ChordFactors>(random_chain(chord_reference_pattern(20)));
  const DenseOperator A(random_matrix(20, 20));
  EXPECT_REFUSED(BudgetTooSmall,
                 chord(A, {.budget = parse_budget("100"), .warm_start = start}),
                 "more than the budget of 100");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.factors = 3, .warm_start = start}), "factors is 3");
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.pattern = ChordFitPattern::kAuto, .warm_start = start}),
                 "pattern auto is not possible");
  auto wrong = std::make_shared<ChordFactors>(*start);
  wrong->pattern.offsets[1][2] = 20;
  EXPECT_REFUSED(InvalidArgument, chord(A, {.warm_start = wrong}), "outside 0..19");
}

/// A budget below the storage of the alternating pattern, but enough for three factors.
TEST(Chord, AutoLeavesOutWhatTheBudgetDoesNotAdmit) {
  const DenseOperator A(random_matrix(100, 100));
  const ChordOptions options{.pattern = ChordFitPattern::kAuto,
                             .budget = parse_budget("4000"),
                             .effort = ChordEffort::kFast,
                             .max_iterations = 5};
  const Approximation result = chord(A, options);
  EXPECT_EQ(result.storage().numbers, 4000);
  EXPECT_THAT(result.summary.form, testing::StartsWith("mixed_radix"));
}

TEST(Chord, HighIsNeverAboveDefault) {
  // Above N = 64 the additional descents of high effort take different steps; a few hundred of them
  // show that.
  const ChordOptions few{.adam_steps = 300, .max_iterations = 50};
  for (const auto& [n, usual] : {std::pair<Index, ChordOptions>{12, {}}, {70, few}}) {
    const DenseOperator A(random_matrix(n, n));
    ChordOptions high = usual;
    high.effort = ChordEffort::kHigh;
    EXPECT_LE(chord(A, high).summary.history.back().relative_error,
              chord(A, usual).summary.history.back().relative_error)
        << n;
  }
}

TEST(Chord, StartedAtTheFactorsOfAStaysThere) {
  for (const Index n : {2, 5, 16, 37}) {
    auto exact = std::make_shared<ChordFactors>(random_chain(chord_reference_pattern(n)));
    const Matrix A = chord_matrix(*exact);
    const Approximation result = chord(DenseOperator(A), {.warm_start = exact});
    EXPECT_LE(test::relative_chain_error(A, result), 1e-14) << n;
    EXPECT_EQ(result.summary.iterations, 0) << n;
    EXPECT_EQ(result.summary.termination, Termination::kConverged) << n;
  }
}

TEST(Chord, AWarmStartIsNeverMadeWorse) {
  const Matrix A = random_matrix(20, 20);
  const DenseOperator op(A);
  const Approximation first =
      chord(op, {.starts = 1, .adam_steps = 100, .max_iterations = 5, .newton_steps = 0});
  const auto start = std::make_shared<ChordFactors>(chain_of(first));
  const Approximation same =
      chord(op, {.max_iterations = 0, .newton_steps = 0, .warm_start = start});
  EXPECT_NEAR(test::relative_chain_error(A, same), test::relative_chain_error(A, first), 1e-13);
  EXPECT_LT(test::relative_chain_error(A, chord(op, {.max_iterations = 20, .warm_start = start})),
            test::relative_chain_error(A, first));
}

TEST(Chord, TheStartIsTheDocumentedOne) {
  const Index n = 6;
  const Matrix A = random_matrix(n, n);
  const ChordOptions untouched{.offsets = "0,1,3;2",
                               .starts = 1,
                               .adam_steps = 0,
                               .max_iterations = 0,
                               .newton_steps = 0,
                               .seed = 5};
  const Approximation result = chord(DenseOperator(A), untouched);
  ChordFactors start{chord_pattern(n, untouched), {}};
  for (Index p = 0; p < 3 * n; ++p) {
    const double mean = p % 3 == 0 ? 0.5 : 0.25;
    start.values.push_back(mean + 0.1 * random_normal(5, RandomStream::kChordStart, 0, p));
  }
  for (Index i = 0; i < n; ++i)
    start.values.push_back(1 + 0.1 * random_normal(5, RandomStream::kChordStart, 1, i));
  const Matrix expected = chord_matrix(start) * A.norm() / std::sqrt(static_cast<double>(n));
  EXPECT_CLOSE(chord_matrix(chain_of(result)), expected, 1e-14);
  EXPECT_THAT(result.summary.message, HasSubstr("worse than the zero matrix"));
  EXPECT_EQ(result.summary.form, "offsets");
}

TEST(Chord, ThePapersStartIsTheDocumentedOne) {
  const Index n = 6;
  const Matrix A = 40 * random_matrix(n, n);
  const ChordOptions untouched{.offsets = "0,1,3;0,2",
                               .optimizer = ChordOptimizer::kBfgs,
                               .start = ChordStart::kPaper,
                               .max_iterations = 0,
                               .seed = 5};
  const Approximation result = chord(DenseOperator(A), untouched);
  ChordFactors start{chord_pattern(n, untouched), {}};
  for (const Index m : {0, 1}) {
    const Index K = m == 0 ? 3 : 2;
    for (Index e = 0; e < K * n; ++e) {
      const double u = random_uniform(5, RandomStream::kChordStart, m, e);
      start.values.push_back(1 / static_cast<double>(K) + 0.01 * u);
    }
  }
  EXPECT_CLOSE(chord_matrix(chain_of(result)), chord_matrix(start), 1e-13);
}

TEST(Chord, BfgsAloneDescendsFromThePapersStart) {
  const Index n = test::kSanitized ? 8 : 12;
  const DenseOperator A(random_matrix(n, n));
  ChordOptions options{.optimizer = ChordOptimizer::kBfgs, .start = ChordStart::kPaper};
  const Approximation result = chord(A, options);
  EXPECT_GT(result.summary.iterations, 20);
  EXPECT_LT(result.summary.history.back().relative_error, 0.9);
  // The initial product is negligible beside a large A, but the first step still finds a descent.
  const DenseOperator large(1e9 * random_matrix(n, n));
  EXPECT_LT(chord(large, options).summary.history.back().relative_error, 0.9);
  // Neither the other start nor Adam gives the same result.
  options.start = ChordStart::kMixed;
  EXPECT_NE(chord(A, options).summary.history.back().relative_error,
            result.summary.history.back().relative_error);
  options.adam_steps = 5;
  EXPECT_REFUSED(InvalidArgument, chord(A, options), "optimizer bfgs takes neither");
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.pattern = ChordFitPattern::kAuto, .optimizer = ChordOptimizer::kBfgs}),
                 "without auto");
}

TEST(Chord, FactorsComeOutWithEqualNorms) {
  const Approximation result = chord(DenseOperator(1e7 * random_matrix(9, 9)),
                                     {.offsets = "0,1,2;0,3;0,1,5", .adam_steps = 50});
  const ChordFactors& chain = chain_of(result);
  Vector norms(3);
  for (Index m = 0; m < 3; ++m) {
    norms(m) = Eigen::Map<const Vector>(chain.values.data() + chain.pattern.first_value(m),
                                        9 * chain.pattern.links(m))
                   .norm();
  }
  EXPECT_LE(norms.maxCoeff() - norms.minCoeff(), 1e-13 * norms.maxCoeff());
}

TEST(Chord, TheScaleOfADoesNotMatter) {
  const Matrix A = random_matrix(10, 10);
  const ChordOptions brief{.starts = 1, .adam_steps = 60, .max_iterations = 20, .newton_steps = 5};
  const double error = test::relative_chain_error(A, chord(DenseOperator(A), brief));
  // Scaling by a power of two changes no bit of the scaled matrix.
  const Matrix larger = std::ldexp(1.0, 500) * A;
  const Approximation result = chord(DenseOperator(larger), brief);
  EXPECT_NEAR(test::relative_chain_error(larger / larger.norm(),
                                         chord(DenseOperator(larger / larger.norm()), brief)),
              error,
              1e-6);
  EXPECT_NEAR(result.summary.history.back().relative_error, error, 1e-13);
  EXPECT_TRUE(chord_matrix(chain_of(result)).allFinite());
}

TEST(Chord, TheZeroMatrixGivesZeros) {
  const Approximation result = chord(DenseOperator(Matrix::Zero(7, 7)));
  EXPECT_EQ(chord_matrix(chain_of(result)), Matrix::Zero(7, 7));
  EXPECT_EQ(result.summary.termination, Termination::kCompleted);
  EXPECT_THAT(result.summary.message, HasSubstr("zero"));
}

TEST(Chord, SparseAndDenseInputGiveTheSameBits) {
  const SparseMatrix A = test::grid_laplacian(6);
  const ChordOptions brief{.starts = 1, .adam_steps = 80, .max_iterations = 20, .newton_steps = 3};
  EXPECT_EQ(chain_of(chord(SparseOperator(A), brief)).values,
            chain_of(chord(DenseOperator(Matrix(A)), brief)).values);
}

TEST(Chord, TheSameSeedGivesTheSameBitsForEveryThreadCount) {
  const DenseOperator A(random_matrix(150, 150));
  const ChordOptions brief{.adam_steps = 40, .max_iterations = 30};
  const auto with_threads = [&](int count) {
    const test::ThreadCount threads(count);
    return chain_of(chord(A, brief)).values;
  };
  const auto one = with_threads(1);
  EXPECT_EQ(with_threads(2), one);
  EXPECT_EQ(with_threads(3), one);
  ChordOptions other = brief;
  other.seed = 2;
  EXPECT_NE(chain_of(chord(A, other)).values, one);
}

TEST(Chord, MoreFactorsThanThePatternAreSaid) {
  const DenseOperator A(random_matrix(32, 32));
  ChordOptions options{.budget = parse_budget("100%"),
                       .effort = ChordEffort::kFast,
                       .adam_steps = 10,
                       .max_iterations = 1};
  const Approximation result = chord(A, options);
  EXPECT_EQ(chain_of(result).pattern.factors(), 5);  // 5 * 6 * 32 = 960 of 1024
  options.budget = parse_budget("1MB");
  options.pattern = ChordFitPattern::kPaper;
  const Approximation more = chord(A, options);
  EXPECT_EQ(chain_of(more).pattern.factors(), 6);  // 6 * 5 * 32 = 960
  EXPECT_THAT(more.summary.message, HasSubstr("6 factors, as many as the budget admits"));
}

TEST(Chord, DistancesOutOfReachAreSaid) {
  const ChordOptions paper{.pattern = ChordFitPattern::kPaper,
                           .effort = ChordEffort::kFast,
                           .adam_steps = 5,
                           .max_iterations = 0};
  const Approximation result = chord(DenseOperator(random_matrix(16, 16)), paper);
  EXPECT_THAT(result.summary.message,
              HasSubstr("cannot reach the distances (column - row) mod 16: 15"));
  const ChordOptions diagonal{
      .offsets = "0", .effort = ChordEffort::kFast, .adam_steps = 5, .max_iterations = 0};
  EXPECT_THAT(chord(DenseOperator(random_matrix(9, 9)), diagonal).summary.message,
              HasSubstr("1, 2, 3, ... (8 in all)"));
  EXPECT_THAT(
      chord(DenseOperator(random_matrix(9, 9)), {.effort = ChordEffort::kFast}).summary.message,
      Not(HasSubstr("reach")));
}

TEST(Chord, WrongInputIsRefused) {
  const DenseOperator A(random_matrix(6, 6));
  EXPECT_REFUSED(InvalidArgument,
                 chord(DenseOperator(random_matrix(6, 5))),
                 "the matrix is 6 x 5; it must be square");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.adam_steps = -2}), "adam_steps -2 is below -1");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.max_iterations = -2}), "max_iterations -2");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.starts = 0}), "starts 0 is below 1");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.newton_steps = -7}), "newton_steps -7");
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.columns_per_step = 2}),
                 "columns_per_step 2 needs an order of at least 32");
  EXPECT_REFUSED(InvalidArgument,
                 chord(DenseOperator(random_matrix(80, 80)), {.newton_steps = 1}),
                 "chains of at most 2500 numbers; this one has 3920");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.memory = 0}), "memory 0 is outside 1..1000");
  EXPECT_REFUSED(InvalidArgument, chord(A, {.tolerance = -1}), "tolerance -1 is outside [0, 1)");
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.tolerance = std::numeric_limits<double>::quiet_NaN()}),
                 "tolerance nan");
  EXPECT_REFUSED(
      BudgetTooSmall, chord(A, {.budget = parse_budget("50")}), "3 factors of order 6 store 54");
}

TEST(Chord, AWrongWarmStartIsRefused) {
  const DenseOperator A(random_matrix(6, 6));
  const auto with_start = [&](ChordFactors chain) {
    return chord(A, {.warm_start = std::make_shared<ChordFactors>(std::move(chain))});
  };
  EXPECT_REFUSED(InvalidArgument,
                 with_start(random_chain(chord_reference_pattern(7))),
                 "the warm start has another pattern: 3 factors of order 7 with 63 values");
  ChordFactors chain = random_chain(chord_reference_pattern(6));
  chain.values[4] = std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(InvalidArgument, with_start(chain), "NaN or Inf");
  chain.values.pop_back();
  EXPECT_REFUSED(InvalidArgument, with_start(chain), "has 53 values, but its pattern has 54");
}

TEST(Chord, OptionsAreListedAndReadBack) {
  ChordOptions options{
      .pattern = ChordFitPattern::kPaper, .offsets = "0,1", .factors = 3, .seed = 9};
  ChordOptions copy;
  for (const auto& option : list_options(options)) {
    OptionSetter setter(option.name, option.value);
    copy.visit(setter);
    EXPECT_TRUE(setter.found) << option.name;
  }
  EXPECT_EQ(copy.pattern, options.pattern);
  EXPECT_EQ(copy.offsets, options.offsets);
  EXPECT_EQ(copy.factors, options.factors);
  EXPECT_EQ(copy.seed, options.seed);
}

}  // namespace
}  // namespace matapprox
