#include "matapprox/measure/run.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

// Keeps the first `rank` diagonal entries of a diagonal matrix: a method with a known error.
struct FirstEntriesOptions {
  Index rank = 1;
  void visit(OptionVisitor& v) { v.visit("rank", rank, "entries to keep"); }
};

std::vector<OptionText> first_entries_options() { return list_options(FirstEntriesOptions{}); }

FirstEntriesOptions chosen_from(const NamedOptions& options) {
  FirstEntriesOptions chosen;
  for (const auto& [name, value] : options) {
    OptionSetter setter(name, value);
    chosen.visit(setter);
  }
  return chosen;
}

void read_first_entries(const NamedOptions& options) { chosen_from(options); }

Approximation first_entries(const LinearOperator& A,
                            const NamedOptions& options,
                            const RunControl& control) {
  control.throw_if_stopped("first_entries");
  const FirstEntriesOptions chosen = chosen_from(options);
  Vector diagonal = A.apply(Matrix::Identity(A.cols(), A.cols())).diagonal();
  diagonal.tail(A.cols() - chosen.rank).setZero();
  Summary summary;
  summary.method = "first_entries";
  summary.rank = chosen.rank;
  summary.options = list_options(chosen);
  return {{make_factor("D", diagonal)}, summary};
}

const Method kFirstEntries{"first_entries",
                           "keeps diagonal entries",
                           first_entries_options,
                           read_first_entries,
                           first_entries};

/// diag(1, 1/2, 1/4, ...): keeping k entries leaves a relative error of almost 2^-k.
DenseOperator halving(Index n) {
  Vector d(n);
  for (Index i = 0; i < n; ++i) d(i) = std::ldexp(1.0, -static_cast<int>(i));
  return DenseOperator(Matrix(d.asDiagonal()));
}

/// A = (A + 10^5 G) - 10^5 G as [A + 10^5 G, 10^5 G] [I; -I]: floats lose five digits of A.
Approximation difference_of_large(const LinearOperator& A,
                                  const NamedOptions& options,
                                  const RunControl&) {
  const Index n = A.cols();
  const Matrix I = Matrix::Identity(n, n);
  const Matrix large = 1e5 * test::random_matrix(n, n, 5);
  Matrix left(n, 2 * n);
  left << A.apply(I) + large, large;
  Matrix right(2 * n, n);
  right << I, -I;
  Summary summary;
  summary.method = "difference_of_large";
  summary.options = list_options(chosen_from(options));
  return {{make_factor("L", left), make_factor("R", right)}, summary};
}

TEST(Run, SaysWhereFloatsCostMoreThanTheirRounding) {
  const Vector sigma =
      Vector::LinSpaced(100, 0, 99).unaryExpr([](double i) { return std::pow(0.8, i); });
  const DenseOperator A(test::with_singular_values(100, 100, sigma));
  const Method cancelling{"difference_of_large",
                          "differs",
                          first_entries_options,
                          read_first_entries,
                          difference_of_large};
  const auto message_of = [&](const Method& method, Precision precision) {
    return run(method, A, {{"rank", "60"}}, precision).approximation.summary.message;
  };
  EXPECT_THAT(message_of(cancelling, Precision::kFloat),
              HasSubstr("storing floats changes the product by"));
  EXPECT_THAT(message_of(cancelling, Precision::kDouble), testing::Not(HasSubstr("floats")));
  for (const char* method : {"cur", "truncated_svd"}) {
    EXPECT_THAT(message_of(find_method(method), Precision::kFloat),
                testing::Not(HasSubstr("floats")));
  }
}

TEST(Run, PacksWithinTheBytesAndIsNearerThanDoublesAre) {
  const Vector sigma =
      Vector::LinSpaced(120, 0, 119).unaryExpr([](double i) { return std::pow(0.9, i); });
  const Matrix general = test::with_singular_values(120, 120, sigma);
  const Matrix square = general * general.transpose();
  const Matrix semidefinite = (square + square.transpose()) / 2;
  for (const char* method : {"truncated_svd", "nystrom"}) {
    const DenseOperator A(semidefinite);
    const NamedOptions options{{"budget", "6000B"}};
    const auto error = [&](Precision precision) {
      const Approximation B = run(find_method(method), A, options, precision).approximation;
      EXPECT_LE(B.storage().bytes, 6000) << method;
      return (test::dense_of(B) - semidefinite).norm();
    };
    const double doubles = error(Precision::kDouble);
    EXPECT_LT(error(Precision::kPacked), 0.2 * doubles) << method;
  }
}

TEST(Run, PacksToATargetAndToARank) {
  const Vector sigma =
      Vector::LinSpaced(100, 0, 99).unaryExpr([](double i) { return std::pow(0.85, i); });
  const Matrix dense = test::with_singular_values(120, 100, sigma);
  const DenseOperator A(dense);
  RunControl control;
  control.target_error = 1e-3;
  const Approximation B =
      run(find_method("truncated_svd"), A, {}, Precision::kPacked, control).approximation;
  EXPECT_LE((test::dense_of(B) - dense).norm(), 1e-3 * dense.norm());
  EXPECT_EQ(storage_precision(B), "packed");
  const Approximation ranked =
      run(find_method("truncated_svd"), A, {{"rank", "20"}}, Precision::kPacked).approximation;
  EXPECT_EQ(ranked.summary.rank, 20);
  const double truncated = sigma.tail(80).norm();
  EXPECT_LT((test::dense_of(ranked) - dense).norm(), 1.06 * truncated);
}

TEST(Run, PacksAChainInAboutAnEighthOfItsBytes) {
  const Matrix dense = test::random_matrix(64, 64, 3);
  const DenseOperator A(dense);
  const NamedOptions options{{"effort", "fast"}};
  const Approximation doubles = run(find_method("chord"), A, options).approximation;
  const Approximation packed =
      run(find_method("chord"), A, options, Precision::kPacked).approximation;
  EXPECT_LT(packed.storage().bytes, 0.16 * static_cast<double>(doubles.storage().bytes));
  const double error = (test::dense_of(doubles) - dense).norm();
  EXPECT_LT((test::dense_of(packed) - dense).norm(), 1.06 * error);
  EXPECT_THROW(run(find_method("cur"), A, {{"rank", "3"}}, Precision::kPacked), InvalidArgument);
}

TEST(Run, CountsPassesAndTime) {
  const DenseOperator A = halving(8);
  const RunResult result = run(kFirstEntries, A, {{"rank", "3"}});
  EXPECT_EQ(result.approximation.summary.rank, 3);
  EXPECT_DOUBLE_EQ(result.passes, 1);
  EXPECT_GT(result.fit_seconds, 0);
  EXPECT_GE(result.peak_memory_bytes, 0);
}

TEST(Run, RoundsToThePrecision) {
  const DenseOperator A(Matrix::Constant(1, 1, 0.1));
  const RunResult exact = run(kFirstEntries, A, {{"rank", "1"}});
  const RunResult rounded = run(kFirstEntries, A, {{"rank", "1"}}, Precision::kFloat);
  const Matrix one = Matrix::Ones(1, 1);
  EXPECT_EQ(exact.approximation.apply(one)(0, 0), 0.1);
  EXPECT_EQ(rounded.approximation.apply(one)(0, 0), static_cast<double>(0.1F));
  EXPECT_EQ(rounded.approximation.precision(), Precision::kFloat);
  EXPECT_EQ(rounded.approximation.storage().bytes, 4);
}

TEST(Run, TargetErrorFindsTheLeastRank) {
  const DenseOperator A = halving(40);
  for (const Index expected : {1, 2, 3, 4, 7, 8, 9, 20, 33}) {
    RunControl control;
    control.target_error = 1.01 * std::ldexp(1.0, -static_cast<int>(expected));
    const Approximation found =
        run(kFirstEntries, A, {}, Precision::kDouble, control).approximation;
    EXPECT_EQ(found.summary.rank, expected);
    EXPECT_EQ(found.summary.termination, Termination::kTargetReached);
  }
}

TEST(Run, TargetErrorOutOfReachSaysSo) {
  const DenseOperator A(Matrix::Ones(6, 6));  // all off-diagonal entries are lost at any rank
  RunControl control;
  control.target_error = 0.1;
  const Approximation found = run(kFirstEntries, A, {}, Precision::kDouble, control).approximation;
  EXPECT_EQ(found.summary.rank, 6);
  EXPECT_THAT(found.summary.message, HasSubstr("target error 0.1 not reached"));
  EXPECT_NE(found.summary.termination, Termination::kTargetReached);
}

/// The stored factors reach the target in every precision: rounding counts.
TEST(Run, ATargetHoldsForWhatIsStored) {
  const Vector sigma =
      Vector::LinSpaced(60, 0, 59).unaryExpr([](double i) { return std::pow(0.8, i); });
  const Matrix dense = test::with_singular_values(70, 60, sigma);
  const DenseOperator A(dense);
  for (const auto& [precision, target] : {std::pair(Precision::kFloat16, 1e-3),
                                          {Precision::kFloat16, 7e-4},
                                          {Precision::kBfloat16, 1e-2},
                                          {Precision::kBfloat16, 4e-3},
                                          {Precision::kFloat, 1e-6},
                                          {Precision::kFloat, 6e-8},
                                          {Precision::kPacked, 1e-3},
                                          {Precision::kDouble, 1e-9}}) {
    SCOPED_TRACE(fmt::format("{} {}", enum_name(precision), target));
    RunControl control;
    control.target_error = target;
    const Method& svd = find_method("truncated_svd");
    const NamedOptions tolerance{{"frobenius_tolerance", fmt::format("{}", target)}};
    for (const Approximation& found : {run(svd, A, {}, precision, control).approximation,
                                       run(svd, A, tolerance, precision).approximation}) {
      EXPECT_LE((test::dense_of(found) - dense).norm(), target * dense.norm() * (1 + 1e-12));
      EXPECT_THAT(found.summary.message, testing::Not(HasSubstr("not reached")));
    }
  }
}

/// Rounding alone exceeds the target: the closest result is returned, and the message states the
/// least error found.
TEST(Run, ATargetBelowThePrecisionIsSaidToBeMissed) {
  const Vector sigma =
      Vector::LinSpaced(60, 0, 59).unaryExpr([](double i) { return std::pow(0.8, i); });
  const Matrix dense = test::with_singular_values(70, 60, sigma);
  const DenseOperator A(dense);
  const Method& svd = find_method("truncated_svd");
  RunControl control;
  control.target_error = 1e-8;
  for (const Precision precision : {Precision::kFloat, Precision::kFloat16, Precision::kBfloat16}) {
    const Approximation found = run(svd, A, {}, precision, control).approximation;
    const Approximation full = run(svd, A, {{"rank", "60"}}, precision).approximation;
    const double error = (test::dense_of(found) - dense).norm();
    EXPECT_NE(found.summary.termination, Termination::kTargetReached);
    EXPECT_THAT(found.summary.message, HasSubstr("target error 1e-08 not reached"));
    EXPECT_THAT(found.summary.message,
                HasSubstr(fmt::format("the least error found is {:.3g}", error / dense.norm())));
    EXPECT_LT(error, 1.1 * (test::dense_of(full) - dense).norm());
  }
}

TEST(Run, AGivenRankWinsOverTheTarget) {
  RunControl control;
  control.target_error = 1e-3;
  const Approximation found =
      run(kFirstEntries, halving(20), {{"rank", "2"}}, Precision::kDouble, control).approximation;
  EXPECT_EQ(found.summary.rank, 2);
}

TEST(Run, StoppedSearchReturnsWhatItHas) {
  const DenseOperator A = halving(40);
  std::atomic<bool> stop{false};
  RunControl control;
  control.stop = &stop;
  control.target_error = 1e-8;
  static std::atomic<bool>* stop_at_four = nullptr;
  stop_at_four = &stop;
  const Method stopping{
      "stopping",
      "stops the search at rank 4",
      first_entries_options,
      read_first_entries,
      [](const LinearOperator& matrix, const NamedOptions& options, const RunControl& inner) {
        Approximation result = first_entries(matrix, options, inner);
        if (result.summary.rank == 4) stop_at_four->store(true);
        return result;
      }};
  const Approximation found = run(stopping, A, {}, Precision::kDouble, control).approximation;
  EXPECT_EQ(found.summary.rank, 4);
  EXPECT_EQ(found.summary.termination, Termination::kInterrupted);
  EXPECT_THAT(found.summary.message, HasSubstr("stopped early"));
}

TEST(Run, PassesOnWhatTheMethodThrows) {
  std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_THROW(run(kFirstEntries, halving(4), {}, Precision::kDouble, control), Interrupted);
  EXPECT_THROW(run(kFirstEntries, halving(4), {{"rank", "two"}}), InvalidArgument);
}

TEST(OptionValue, IsEmptyIfAbsent) {
  const NamedOptions options{{"rank", "3"}};
  EXPECT_EQ(option_value(options, "rank"), "3");
  EXPECT_EQ(option_value(options, "seed"), "");
}

/// diag(1, value) as the result of a method.
Approximation with_value(double value) {
  Summary summary;
  summary.method = "fixed";
  return Approximation({make_factor("D", Vector{{1.0, value}})}, std::move(summary));
}

TEST(Run, RefusesFactorsThatAreNotFinite) {
  const DenseOperator A(Matrix::Identity(2, 2));
  for (const double value : {std::nan(""), HUGE_VAL}) {
    const Fit fit = [&](const LinearOperator&, const RunControl&) { return with_value(value); };
    EXPECT_THAT([&] { run(fit, A); },
                testing::ThrowsMessage<NumericalError>(HasSubstr("factor D of the result")));
  }
}

}  // namespace
}  // namespace matapprox
