#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/objective.hpp"
#include "support/expect_close.hpp"
#include "support/finite_differences.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

// Fits whose rows and columns are in a different order than those of the matrix.

namespace matapprox {
namespace {

using node_order::Ordering;
using testing::HasSubstr;

constexpr Index kOrderedN = 80;

/// A band matrix of order 80 with shuffled rows and columns that hide the band; symmetric or not.
Matrix hidden_band(bool symmetric) {
  Matrix band = Matrix::Zero(kOrderedN, kOrderedN);
  const Matrix noise = test::random_matrix(kOrderedN, kOrderedN, 3);
  for (Index i = 0; i < kOrderedN; ++i) {
    for (Index j = std::max<Index>(i - 3, 0); j < std::min(i + 4, kOrderedN); ++j)
      band(i, j) = 2 + noise(i, j);
  }
  if (symmetric) band = ((band + band.transpose()) / 2).eval();
  Matrix hidden(kOrderedN, kOrderedN);
  for (Index i = 0; i < kOrderedN; ++i) {
    for (Index j = 0; j < kOrderedN; ++j)
      hidden(i * 33 % kOrderedN, (symmetric ? j * 33 : j * 13) % kOrderedN) = band(i, j);
  }
  return hidden;
}

double measured_error(const Matrix& A, const Approximation& result) {
  return (A - result.columns_at(index_range(0, A.cols()))).norm() / A.norm();
}

ChordOptions quick(ChordOrder order) {
  return {.order = order, .starts = 1, .adam_steps = 400, .max_iterations = 60};
}

TEST(ChordOrderedFit, GraphOrdersFindABandAgain) {
  const Matrix A = hidden_band(true);
  const DenseOperator op(A);
  const double natural = measured_error(A, chord(op, quick(ChordOrder::kNatural)));
  for (const auto order : {ChordOrder::kRcm, ChordOrder::kSpectral, ChordOrder::kHop}) {
    const Approximation result = chord(op, quick(order));
    EXPECT_LT(measured_error(A, result), 0.5 * natural) << enum_name(order);
    EXPECT_NEAR(result.summary.history.back().relative_error, measured_error(A, result), 1e-12);
    EXPECT_EQ(result.summary.form, "alternating, " + std::string(enum_name(order)));
    EXPECT_EQ(result.storage().numbers,
              chord_reference_pattern(kOrderedN).stored_numbers() + kOrderedN);
    EXPECT_EQ(result.factors().front().value, result.factors().back().value);
  }
}

TEST(ChordOrderedFit, RowsAndColumnsHaveTheirOwnOrderWhereTheMatrixIsNotSymmetric) {
  const Matrix A = hidden_band(false);
  const Approximation result = chord(DenseOperator(A), quick(ChordOrder::kHop));
  EXPECT_EQ(result.storage().numbers,
            chord_reference_pattern(kOrderedN).stored_numbers() + 2 * kOrderedN);
  EXPECT_LT(measured_error(A, result),
            0.7 * measured_error(A, chord(DenseOperator(A), quick(ChordOrder::kNatural))));
  EXPECT_NEAR(result.summary.history.back().relative_error, measured_error(A, result), 1e-12);
}

TEST(ChordOrderedFit, AShiftMovesTheLinksOfTheLastFactor) {
  // Links that all lead forward reach distance -1 only by nearly all hops; here its entries are as
  // large as those of distance 1.
  const ChordPattern reference = chord_reference_pattern(kOrderedN);
  const Matrix A = Matrix::NullaryExpr(kOrderedN, kOrderedN, [](Index i, Index j) {
    return 1.0 / static_cast<double>(1 + std::abs(i - j));
  });
  ChordOptions options = quick(ChordOrder::kShift);
  options.pattern = ChordFitPattern::kReference;
  const Approximation result = chord(DenseOperator(A), options);
  const ChordPattern& found = test::chain_of(result).pattern;
  ChordPattern moved = reference;
  const Index shift = found.offsets.back().front();
  for (Index& offset : moved.offsets.back()) offset = (offset + shift) % kOrderedN;
  EXPECT_EQ(found, moved);
  EXPECT_NE(shift, 0);
  EXPECT_EQ(result.storage().numbers, reference.stored_numbers());
  EXPECT_EQ(result.summary.form, "reference, shift");
  EXPECT_NEAR(result.summary.history.back().relative_error, measured_error(A, result), 1e-12);
}

TEST(ChordOrderedFit, AutoTriesOrdersAndSaysSo) {
  const Matrix A = hidden_band(true);
  ChordOptions options{.pattern = ChordFitPattern::kAuto,
                       .budget = parse_budget("2000"),
                       .adam_steps = 400,
                       .max_iterations = 60};
  const Approximation result = chord(DenseOperator(A), options);
  EXPECT_THAT(result.summary.message, HasSubstr("mixed_radix, symmetrized, spectral 0."));
  EXPECT_LE(result.storage().numbers, 2000);
  EXPECT_NEAR(result.summary.history.back().relative_error, measured_error(A, result), 1e-12);
  options.order = ChordOrder::kNatural;
  const Approximation natural = chord(DenseOperator(A), options);
  EXPECT_LT(measured_error(A, result), measured_error(A, natural));
  EXPECT_THAT(natural.summary.message, testing::Not(HasSubstr("spectral")));
}

TEST(ChordOrderedFit, ABudgetHoldsThePermutationsToo) {
  const Matrix A = hidden_band(false);
  for (const auto pattern : {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
    for (const char* budget : {"5000", "50000B", "20000B float"}) {
      ChordOptions options = quick(ChordOrder::kHop);
      options.pattern = pattern;
      options.budget = parse_budget(budget);
      options.adam_steps = 2;
      options.max_iterations = 0;
      const Approximation result = chord(DenseOperator(A), options);
      const Approximation stored(round_factors(result.factors(), options.budget.precision),
                                 {},
                                 false,
                                 options.budget.precision);
      Storage counted = stored.storage();
      EXPECT_TRUE(options.budget.admits(counted, kOrderedN, kOrderedN)) << budget;
      // One more link, or one more factor with its integers.
      const bool is_mixed = pattern == ChordFitPattern::kMixedRadix;
      const Index links = is_mixed ? 1 : test::chain_of(result).pattern.links(0);
      counted.numbers += kOrderedN * links;
      counted.bytes += kOrderedN * links * bytes_per_value(options.budget.precision) +
                       8 * (is_mixed ? links : links + 1);
      EXPECT_FALSE(options.budget.admits(counted, kOrderedN, kOrderedN)) << budget;
    }
  }
  ChordOptions options = quick(ChordOrder::kHop);
  options.budget = parse_budget(
      std::to_string(chord_reference_pattern(kOrderedN).stored_numbers() + 2 * kOrderedN - 1));
  EXPECT_REFUSED(BudgetTooSmall, chord(DenseOperator(A), options), "budget");
}

TEST(ChordOrderedFit, HasTheSameBitsForEveryThreadCount) {
  const DenseOperator A(hidden_band(true));
  const auto with_threads = [&](int count) {
    const test::ThreadCount threads(count);
    return test::chain_of(chord(A, quick(ChordOrder::kAuto))).values;
  };
  const auto one = with_threads(1);
  EXPECT_EQ(with_threads(2), one);
  EXPECT_EQ(with_threads(3), one);
}

TEST(ChordOrderedFit, WrongControlsAreRefused) {
  const DenseOperator A(hidden_band(true));
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.symmetrize = true, .order = ChordOrder::kShift}),
                 "does not apply to symmetrized products");
  const auto start =
      std::make_shared<ChordFactors>(test::random_chain(chord_reference_pattern(kOrderedN)));
  EXPECT_REFUSED(InvalidArgument,
                 chord(A, {.order = ChordOrder::kRcm, .warm_start = start}),
                 "a warm start has its own order");
  const auto turned = std::make_shared<Permutation>(index_range(0, kOrderedN));
  EXPECT_REFUSED(InvalidArgument, chord(A, {.warm_rows = turned}), "without its factors");
  const auto other = std::make_shared<Permutation>(index_range(0, 5));
  EXPECT_REFUSED(
      InvalidArgument, chord(A, {.warm_start = start, .warm_rows = other}), "permutes 5 rows");
}

TEST(ChordOrderedFit, AWarmStartIsOfAChain) {
  const FactorProduct other({make_factor("A", Matrix(Matrix::Ones(3, 3)))});
  EXPECT_REFUSED(
      InvalidArgument, warm_started({}, other, "x.h5"), "x.h5: is not a Chord approximation");
}

TEST(ChordOrderedFit, AWarmStartKeepsItsOrder) {
  const Matrix A = hidden_band(false);
  const DenseOperator op(A);
  const Approximation first = chord(op, quick(ChordOrder::kHop));
  const ChordOptions options = warm_started({.max_iterations = 40}, first, "first");
  EXPECT_EQ(options.warm_start.get(), &test::chain_of(first));
  EXPECT_EQ(options.warm_rows.get(), &std::get<Permutation>(*first.factors()[0].value));
  EXPECT_EQ(options.warm_columns.get(), &std::get<Permutation>(*first.factors()[2].value));
  std::vector<ResumeState> states;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation&, const ResumeState& state) {
    states.push_back(state);
  };
  const Approximation second = chord(op, options, control);
  EXPECT_LT(measured_error(A, second), measured_error(A, first));
  EXPECT_EQ(std::get<Permutation>(*second.factors()[2].value), *options.warm_columns);
  // A resumed fit restores the order without the warm start.
  ASSERT_FALSE(states.empty());
  RunControl rest;
  rest.resume = &states.front();
  const Approximation resumed = chord(op, {.max_iterations = 40}, rest);
  EXPECT_EQ(test::chain_of(resumed).values, test::chain_of(second).values);
  EXPECT_EQ(std::get<Permutation>(*resumed.factors()[2].value), *options.warm_columns);
}

/// A checkpoint of a resumed fit gives the same result as one of the first run.
TEST(ChordOrderedFit, ResumesTwice) {
  const DenseOperator A(hidden_band(false));
  const auto start =
      std::make_shared<ChordFactors>(test::random_chain(chord_reference_pattern(kOrderedN)));
  std::vector<Index> sources = index_range(0, kOrderedN);
  std::rotate(sources.begin(), sources.begin() + 7, sources.end());
  for (const bool warm : {false, true}) {
    ChordOptions options{.starts = 1, .adam_steps = 20, .max_iterations = 5};
    if (warm) {
      options.warm_start = start;
      options.warm_rows = std::make_shared<Permutation>(sources);
    } else {
      options.order = ChordOrder::kHop;
    }
    const auto run = [&](const ResumeState* from, std::vector<ResumeState>& states) {
      RunControl control;
      control.resume = from;
      control.checkpoint_seconds = 0;
      control.checkpoint = [&](const Approximation&, const ResumeState& state) {
        states.push_back(state);
      };
      return chord(A, options, control);
    };
    std::vector<ResumeState> first;
    std::vector<ResumeState> second;
    std::vector<ResumeState> third;
    const Approximation whole = run(nullptr, first);
    run(&first.at(3), second);
    const Approximation end = run(&second.at(3), third);
    EXPECT_EQ(test::chain_of(end).values, test::chain_of(whole).values) << warm;
    EXPECT_EQ(std::get<Permutation>(*end.factors()[0].value),
              std::get<Permutation>(*whole.factors()[0].value));
  }
}

TEST(ChordOrderedFit, TinyMatricesAreFittedInEveryOrder) {
  for (const Index n : {1, 2, 3, 4}) {
    const Matrix A = test::random_matrix(n, n);
    for (const auto pattern : {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
      for (const auto order : {ChordOrder::kShift,
                               ChordOrder::kRcm,
                               ChordOrder::kSpectral,
                               ChordOrder::kHop,
                               ChordOrder::kAuto}) {
        const Approximation result = chord(
            DenseOperator(A), {.pattern = pattern, .order = order, .starts = 5, .adam_steps = 300});
        EXPECT_NEAR(result.summary.history.back().relative_error, measured_error(A, result), 1e-12)
            << n << enum_name(order);
      }
    }
  }
}

/// mixed_radix with an order has one link fewer; a warm start from its result still counts as that
/// pattern.
TEST(ChordOrderedFit, ANamedPatternIsThatOfItsOwnStart) {
  const Matrix A = hidden_band(true);
  for (const auto order : {ChordOrder::kRcm, ChordOrder::kShift}) {
    ChordOptions options = quick(order);
    options.pattern = ChordFitPattern::kMixedRadix;
    const Approximation first = chord(DenseOperator(A), options);
    options.order = ChordOrder::kDefault;
    options.warm_start = std::make_shared<ChordFactors>(test::chain_of(first));
    if (order == ChordOrder::kRcm) {
      options.warm_rows =
          std::make_shared<Permutation>(std::get<Permutation>(*first.factors()[0].value));
      options.warm_columns = options.warm_rows;
    }
    const Approximation second = chord(DenseOperator(A), options);
    EXPECT_LE(measured_error(A, second), measured_error(A, first));
    options.pattern = ChordFitPattern::kReference;
    EXPECT_REFUSED(
        InvalidArgument, chord(DenseOperator(A), options), "the pattern of the warm start differs");
  }
}

TEST(ChordOrderedFit, ResumesFromAnyCheckpoint) {
  const DenseOperator A(hidden_band(true));
  for (const Index columns : {0, 8}) {
    ChordOptions options{.pattern = ChordFitPattern::kAuto,
                         .adam_steps = 60,
                         .max_iterations = 20,
                         .columns_per_step = columns};
    std::vector<ResumeState> states;
    RunControl control;
    control.checkpoint_seconds = 0;
    control.checkpoint = [&](const Approximation&, const ResumeState& state) {
      states.push_back(state);
    };
    const Approximation whole = chord(A, options, control);
    EXPECT_THAT(whole.summary.form, HasSubstr("mixed_radix"));
    std::vector<bool> ordered(2);
    const std::size_t stride =
        test::kSanitized ? 1347 : 449;  // under a sanitizer a fit takes ten times as long
    for (std::size_t i = 0; i < states.size(); i += stride) {
      RunControl rest;
      rest.resume = &states[i];
      const Approximation resumed = chord(A, options, rest);
      ASSERT_EQ(test::chain_of(resumed).values, test::chain_of(whole).values) << i;
      EXPECT_EQ(resumed.summary.message, whole.summary.message);
      EXPECT_EQ(resumed.factors().size(), whole.factors().size());
      ordered[states[i].counter("form") >= 4 ? 1 : 0] = true;
    }
    EXPECT_TRUE(ordered[0] && ordered[1]);
  }
}

/// A checkpoint contains the orderings: they are not searched again.
TEST(ChordOrderedFit, ACheckpointHoldsTheOrder) {
  const Matrix A = hidden_band(true);
  ResumeState state;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation&, const ResumeState& saved) {
    if (state.empty()) state = saved;
  };
  chord(DenseOperator(A), quick(ChordOrder::kHop), control);
  for (auto& [name, numbers] : state.arrays) {
    if (name.starts_with("order_hop")) std::reverse(numbers.begin(), numbers.end());
  }
  RunControl rest;
  rest.resume = &state;
  const Approximation resumed = chord(DenseOperator(A), quick(ChordOrder::kHop), rest);
  const auto& sources = std::get<Permutation>(*resumed.factors().front().value).sources();
  const Vector& saved = state.array("order_hop_rows");
  EXPECT_TRUE(std::equal(sources.begin(), sources.end(), saved.begin()));
  for (auto& [name, numbers] : state.arrays) {
    if (name == "order_hop_rows") numbers(0) = numbers(1);
  }
  EXPECT_REFUSED(InvalidArgument,
                 chord(DenseOperator(A), quick(ChordOrder::kHop), rest),
                 "permutation: index");
}

/// Compares f and its gradient in an order, for P and for (P + P^T) / 2, with dense formulas and
/// central differences; for all columns, and for each of A's columns alone. On the CPU and by GPU
/// code.
TEST(ChordOrderedFit, TheObjectiveIsThatOfTheOrderedMatrix) {
  const Index n = 13;
  const std::vector<Index> rows{3, 1, 4, 12, 5, 9, 2, 6, 11, 0, 7, 10, 8};
  std::vector<Index> columns(rows.rbegin(), rows.rend());
  const auto gpu = [](const ChordPattern& pattern, Index max_columns, const ChordTarget& part) {
    return test::host_gpu_objective(pattern, max_columns, part);
  };
  for (const bool symmetrized : {false, true}) {
    Matrix A = test::random_matrix(n, n);
    if (symmetrized) A = (A + A.transpose()).eval();
    const auto ordering =
        std::make_shared<const Ordering>(Ordering{rows, symmetrized ? rows : columns});
    const DenseOperator op(A);
    chord_fit::Target target(op, {});
    target.follow(std::make_shared<const Ordering>(Ordering{columns, rows}));
    target.follow(ordering);
    Matrix T(n, n);
    for (Index p = 0; p < n; ++p) {
      for (Index q = 0; q < n; ++q)
        T(p, q) = A(ordering->rows[static_cast<std::size_t>(p)],
                    ordering->columns[static_cast<std::size_t>(q)]) /
                  target.unit();
    }
    for (const ChordPattern& pattern :
         {chord_alternating_pattern(n), chord_mixed_radix_pattern(n, 16)}) {
      const ChordFactors chain = test::random_chain(pattern);
      const Vector values = Eigen::Map<const Vector>(chain.values.data(), pattern.stored_numbers());
      const chord_fit::Form form{
          "",
          pattern,
          symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct,
          ordering};
      const auto dense = [&](const Vector& at) {
        Matrix Z = test::chord_matrix({pattern, {at.begin(), at.end()}});
        if (symmetrized) Z = ((Z + Z.transpose()) / 2).eval();
        return (Z - T).squaredNorm() / 2;
      };
      for (const bool on_device : {false, true}) {
        RunControl control;
        control.on_device = on_device;
        chord_fit::Evaluation objective(form, target, n, control, gpu);
        const MultiVector point(objective.space(), values);
        MultiVector gradient(objective.space(), values.size(), 1);
        const double f = objective.of_all(point.data(), gradient.data());
        EXPECT_NEAR(f, dense(values), 1e-13 * f);
        EXPECT_CLOSE(Vector(to_host(gradient.columns())),
                     test::finite_difference_gradient(dense, values),
                     1e-7);
        Matrix Z = test::chord_matrix(chain);
        if (symmetrized) Z = ((Z + Z.transpose()) / 2).eval();
        for (const Index c : {0, 5, 12}) {
          const auto q = std::find(ordering->columns.begin(), ordering->columns.end(), c) -
                         ordering->columns.begin();
          const double one = objective.of_sample(std::span(&c, 1), point.data(), nullptr);
          EXPECT_NEAR(one, n * (Z - T).col(q).squaredNorm() / 2, 1e-13 * f);
        }
      }
    }
  }
}

}  // namespace
}  // namespace matapprox
