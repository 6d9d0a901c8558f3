#include "matapprox/best/best.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "factors/xz.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

Matrix decaying(Index rows, Index cols, double ratio) {
  Vector values(std::min(rows, cols));
  for (Index k = 0; k < values.size(); ++k) values(k) = std::pow(ratio, static_cast<double>(k));
  return test::with_singular_values(rows, cols, values);
}

StorageBudget bytes_budget(double bytes) {
  return {StorageBudget::Unit::kBytes, bytes, Precision::kDouble};
}

double error_of(const Matrix& A, const LinearOperator& B) {
  return (test::dense_of(B) - A).norm() / A.norm();
}

const BestCandidate& chosen_of(const BestResult& result) {
  return result.candidates[result.chosen];
}

TEST(Best, IsNeverBehindAMethodOfTheRegistryAtTheSameBytes) {
  const Matrix points = random_normal_matrix(3, RandomStream::kSketch, 180, 2);
  const KernelOperator kernel(points, {.function = KernelFunction::kMatern32, .bandwidth = 0.5});
  const DenseOperator low_rank(decaying(170, 140, 0.7));
  const DenseOperator slow(decaying(150, 150, 0.99));
  for (const LinearOperator* A : {static_cast<const LinearOperator*>(&kernel),
                                  static_cast<const LinearOperator*>(&low_rank),
                                  static_cast<const LinearOperator*>(&slow)}) {
    const Matrix dense = test::dense_of(*A);
    for (const double share : {0.03, 0.1}) {
      const double bytes = share * 8 * static_cast<double>(dense.size());
      const BestResult result = best(*A, {.budget = bytes_budget(bytes)});
      EXPECT_LE(static_cast<double>(result.approximation.storage().bytes), bytes);
      const double error = error_of(dense, result.approximation);
      EXPECT_NEAR(*result.measurement.relative_error, error, 1e-10);
      for (const char* name : {"truncated_svd", "cur", "hierarchical", "nystrom"}) {
        if (dense.rows() != dense.cols() && name == std::string("nystrom")) continue;
        const NamedOptions options{{"budget", bytes_budget(bytes).text()}};
        const double other = error_of(dense, run(find_method(name), *A, options).approximation);
        EXPECT_LE(error, 1.02 * other) << name << " at " << share << " of " << A->description();
      }
    }
  }
}

TEST(Best, ReachesATargetInFewerBytesThanDoublesNeed) {
  const DenseOperator A(decaying(200, 160, 0.85));
  const Matrix dense = test::dense_of(A);
  for (const double target : {0.1, 1e-3, 1e-8}) {
    const BestResult result = best(A, {.target_error = target});
    EXPECT_TRUE(result.target_is_met);
    EXPECT_LE(error_of(dense, result.approximation), target);
    const Approximation doubles =
        run(find_method("truncated_svd"), A, {{"frobenius_tolerance", fmt::format("{}", target)}})
            .approximation;
    EXPECT_LT(result.approximation.storage().bytes, doubles.storage().bytes);
    EXPECT_EQ(result.measurement.certificate->frobenius->confidence, 1);
  }
}

TEST(Best, ReachesATargetOfTheSpectralNorm) {
  const Matrix dense = decaying(220, 220, 0.97);
  const DenseOperator A(dense);
  const BestResult spectral = best(A, {.target_error = 0.05, .norm = CertifiedNorm::kSpectral});
  const Vector values = kernels::singular_values(test::dense_of(spectral.approximation) - dense);
  EXPECT_TRUE(spectral.target_is_met);
  EXPECT_LE(values(0), 0.05 * (1 + 1e-12));  // |A|_2 is 1
  EXPECT_LE(spectral.measurement.certificate->spectral->value, 0.05);
  EXPECT_GE(spectral.measurement.certificate->spectral->value, values(0));
  // A Frobenius error of at most 5 % of |A|_2 would need more numbers than necessary.
  const BestResult frobenius = best(A, {.target_error = 0.05 / dense.norm()});
  EXPECT_LT(spectral.approximation.storage().bytes, frobenius.approximation.storage().bytes);
}

TEST(Best, SaysWhatBecameOfEachCandidate) {
  const BestResult result =
      best(DenseOperator(decaying(128, 128, 0.98)), {.budget = bytes_budget(4000)});
  int chosen = 0;
  for (const BestCandidate& candidate : result.candidates) {
    EXPECT_FALSE(candidate.name.empty());
    EXPECT_FALSE(candidate.verdict.empty()) << candidate.name;
    chosen += candidate.chosen ? 1 : 0;
  }
  EXPECT_EQ(chosen, 1);
  EXPECT_TRUE(chosen_of(result).chosen);
  EXPECT_EQ(chosen_of(result).verdict, "chosen");
  EXPECT_NEAR(*chosen_of(result).relative_error, *result.measurement.relative_error, 1e-12);
  EXPECT_GT(result.passes, 0);
}

TEST(Best, APredictionIsNoMoreThanWhatComesOut) {
  for (const double ratio : {0.5, 0.9, 0.99}) {
    const DenseOperator A(decaying(150, 150, ratio));
    const BestResult result = best(A, {.budget = bytes_budget(6000), .methods = "truncated_svd"});
    for (const BestCandidate& candidate : result.candidates) {
      if (!candidate.predicted_error || !candidate.relative_error) continue;
      EXPECT_LE(*candidate.predicted_error, 1.3 * *candidate.relative_error) << ratio;
    }
  }
}

TEST(Best, BuildsLowRankInFullWhereItMayWin) {
  const DenseOperator A(decaying(200, 200, 0.97));
  const auto low_rank = [&](double bytes) {
    const BestResult found = best(A, {.budget = bytes_budget(bytes)});
    return *std::find_if(found.candidates.begin(), found.candidates.end(), [](const auto& each) {
      return each.name == "truncated_svd";
    });
  };
  const BestCandidate built = low_rank(60000);
  EXPECT_GT(*built.predicted_error, 0);
  EXPECT_TRUE(built.relative_error.has_value());
}

/// Smooth up to an edge that is neither a row, a column nor a diagonal.
TEST(Best, TakesWaveletsWhereTheyAreNearest) {
  const Matrix A = Matrix::NullaryExpr(200, 200, [](Index i, Index j) {
    const auto x = static_cast<double>(i) / 200;
    const auto y = static_cast<double>(j) / 200;
    return (x * x + 2 * y * y < 0.7 ? 2 : 1) + std::sin(3 * x + y);
  });
  for (const double share : {0.005, 0.03}) {
    const double bytes = std::floor(share * 8 * 200 * 200);
    const BestResult result = best(DenseOperator(A), {.budget = bytes_budget(bytes)});
    EXPECT_EQ(chosen_of(result).method, "wavelet");
    double others = std::numeric_limits<double>::infinity();
    for (const BestCandidate& candidate : result.candidates) {
      if (candidate.method != "wavelet" && candidate.relative_error)
        others = std::min(others, *candidate.relative_error);
    }
    EXPECT_LT(error_of(A, result.approximation), 0.5 * others);
  }
}

/// Returns A(p, p) for a random p.
Matrix shuffled(const Matrix& A) {
  const Vector keys = random_normal_matrix(9, RandomStream::kSketch, A.rows(), 1);
  std::vector<Index> order = index_range(0, A.rows());
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return keys(a) < keys(b); });
  return A(order, order);
}

// An order of the rows of a large matrix that loses on a sample is not tried on the whole: neither
// the given one of points on a line in random order, nor another one where none helps.
TEST(Best, TriesTheOrderOfRowsThatASampleFavors) {
  constexpr Index kOrder = 1100;
  Matrix line(kOrder, kOrder);
  for (Index j = 0; j < kOrder; ++j) {
    for (Index i = 0; i < kOrder; ++i) {
      line(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 50);
    }
  }
  Matrix factor = random_normal_matrix(4, RandomStream::kSketch, kOrder, 300);
  for (Index k = 0; k < 300; ++k) factor.col(k) /= static_cast<double>(k + 1);
  const std::map<std::string, std::string> verdicts[] = {
      {{"hierarchical", "the spectral order is nearer, by a sample of the rows"},
       {"hierarchical, order spectral", "chosen"}},
      {{"hierarchical", "chosen"},
       {"hierarchical, order spectral", "the given order is nearer, by a sample of the rows"}}};
  const Matrix matrices[] = {shuffled(line), factor * factor.transpose()};
  for (int k = 0; k < 2; ++k) {
    const BestResult result = best(DenseOperator(matrices[k]), {.budget = bytes_budget(2e5)});
    std::map<std::string, std::string> found;
    for (const BestCandidate& candidate : result.candidates) {
      if (verdicts[k].contains(candidate.name)) found[candidate.name] = candidate.verdict;
    }
    EXPECT_EQ(found, verdicts[k]);
  }
}

/// The estimates by samples run between candidates, where only their own stop scope sees a request.
TEST(Best, StopsBetweenCandidatesToo) {
  const Matrix A = test::random_matrix(300, 300, 3);
  std::atomic<bool> stop{false};
  RunControl control;
  control.stop = &stop;
  BestEvents events;
  events.finished = [&](const BestCandidate& candidate) {
    if (candidate.method == "hierarchical") stop = true;
  };
  const BestResult result =
      best(DenseOperator(A), {.budget = bytes_budget(0.05 * 8 * 300 * 300)}, control, events);
  EXPECT_TRUE(result.interrupted);
  int after = 0;
  for (const BestCandidate& candidate : result.candidates) {
    if (candidate.method == "kronecker" || candidate.method == "butterfly" ||
        candidate.method == "transform" || candidate.method == "wavelet") {
      EXPECT_EQ(candidate.verdict, "not tried: stopped before");
      ++after;
    }
  }
  EXPECT_EQ(after, 4);
}

TEST(Best, KeepsToTheMethodsThatAreNamed) {
  const DenseOperator A(decaying(100, 100, 0.9));
  const BestResult result = best(A, {.budget = bytes_budget(5000), .methods = "truncated_svd,cur"});
  for (const BestCandidate& candidate : result.candidates) {
    EXPECT_TRUE(candidate.method == "truncated_svd" || candidate.method == "cur");
  }
  // A method that is not expected to win can be chosen too.
  EXPECT_EQ(chosen_of(best(A, {.budget = bytes_budget(40000), .methods = "cur"})).method, "cur");
  EXPECT_THAT([&] { best(A, {.methods = "hierarchic"}); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("did you mean 'hierarchical'")));
}

TEST(Best, CountsNumbersWhereTheBudgetDoes) {
  const DenseOperator A(decaying(64, 64, 0.95));
  const BestResult result =
      best(A, {.budget = {StorageBudget::Unit::kNumbers, 1000, Precision::kDouble}});
  EXPECT_LE(result.approximation.storage().numbers, 1000);
  EXPECT_EQ(storage_precision(result.approximation) == "packed",
            chosen_of(result).method == "hierarchical");
}

TEST(Best, StopsInTimeWithWhatItHas) {
  const DenseOperator A(decaying(400, 400, 0.99));
  RunControl control;
  std::atomic<bool> stop{false};
  control.stop = &stop;
  BestEvents events;
  events.started = [&](const BestCandidate& candidate) {
    stop = candidate.method == "hierarchical";
  };
  const BestResult result = best(A, {.budget = bytes_budget(20000)}, control, events);
  EXPECT_TRUE(result.interrupted);
  EXPECT_LE(result.approximation.storage().bytes, 20000);
  stop = true;
  EXPECT_THROW(best(A, {}, control), Interrupted);
}

TEST(Best, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  const DenseOperator A(decaying(150, 120, 0.9));
  const BestOptions options{.budget = bytes_budget(8000), .seed = 5};
  const test::ThreadCount one(1);
  const Matrix first = test::dense_of(best(A, options).approximation);
  const test::ThreadCount three(3);
  EXPECT_SAME_BITS(test::dense_of(best(A, options).approximation), first);
}

/// A dense matrix whose cost model claims that products take days.
class SlowOperator final : public LinearOperator {
 public:
  explicit SlowOperator(Matrix A) : A_(std::move(A)) {}
  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Cost cost() const override {
    return {.multiplications_per_apply = 1e15, .multiplications_per_column = 1e15};
  }
  std::string description() const override { return "slow"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { Y = A_ * X; }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { Y = A_.transpose() * X; }
  Matrix A_;
};

TEST(Best, DrawsNoBoundThatTheTimeLeftIsTooShortFor) {
  const SlowOperator A(decaying(200, 200, 0.9));
  const BestOptions options{.target_error = 0.01, .methods = "hierarchical"};
  const BestResult unlimited = best(A, options);
  EXPECT_TRUE(unlimited.target_is_met);
  EXPECT_TRUE(unlimited.measurement.certificate.has_value());
  RunControl control;
  control.max_seconds = 600;
  const BestResult limited = best(A, options, control);
  EXPECT_FALSE(limited.target_is_met);
  EXPECT_FALSE(limited.measurement.certificate.has_value());
  EXPECT_FALSE(limited.measurement.error_is_exact);
  EXPECT_NEAR(*limited.measurement.relative_error, 0.01, 0.005);
}

/// Products and columns take the given number of seconds per column.
class LateOperator final : public LinearOperator {
 public:
  LateOperator(Matrix A, double seconds_per_column)
      : A_(std::move(A)), seconds_per_column_(seconds_per_column) {}
  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Cost cost() const override {
    const auto entries = static_cast<double>(A_.size());
    return {.multiplications_per_apply = entries, .multiplications_per_column = entries};
  }
  std::string description() const override { return "late"; }
  Index columns_so_far() const { return columns_so_far_; }

 private:
  void wait(Index columns) const {
    columns_so_far_ += columns;
    std::this_thread::sleep_for(
        std::chrono::duration<double>(seconds_per_column_ * static_cast<double>(columns)));
  }
  void do_apply(const ConstBlock& X, Block Y) const override {
    wait(X.cols());
    Y = kernels::product(A_, X);
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    wait(X.cols());
    Y = kernels::transpose_product(A_, X);
  }
  Matrix A_;
  double seconds_per_column_;
  mutable std::atomic<Index> columns_so_far_{0};
};

// A sleep may last longer than requested, never shorter. So even on a busy machine only the columns
// that fit into the time are computed before the deadline; any more were started after it.
TEST(Best, EndsInTimeWhereProductsAreSlow) {
  const Index N = 1200;
  const Matrix A = random_normal_matrix(1, RandomStream::kGenerator, N, 40) *
                   random_normal_matrix(2, RandomStream::kGenerator, 40, N);
  const BestOptions options{.budget = bytes_budget(40.0 * N)};
  // Everything else takes longer under a sanitizer or beside other work; the limit grows
  // accordingly.
  const RunControl unhindered;
  const LateOperator at_once(A, 0);
  best(at_once, options, unhindered);
  RunControl control;
  control.max_seconds = std::max(2.0, unhindered.seconds());
  // Reading all entries would take 1.2 times the limit.
  const LateOperator late(A, 1.2 * control.max_seconds / static_cast<double>(N));
  const Index most = N * 5 / 4;
  ASSERT_GT(at_once.columns_so_far(), most);
  try {
    const BestResult found = best(late, options, control);
    EXPECT_TRUE(found.interrupted);
    EXPECT_EQ(chosen_of(found).method, "truncated_svd");
    EXPECT_LT(found.approximation.summary.rank, 48);
    EXPECT_LT(*found.measurement.relative_error, 0.99);
  } catch (const Interrupted&) {
    // Under load there may be too little time for a first result.
  }
  EXPECT_LT(late.columns_so_far(), most);
}

TEST(Best, StartsWithAFewLandmarksOfPointsWhereTimeIsLimited) {
  const KernelOperator A(random_normal_matrix(3, RandomStream::kGenerator, 300, 2));
  const BestOptions options{.budget = bytes_budget(20000)};
  const auto first_of = [&](double seconds) {
    RunControl control;
    control.max_seconds = seconds;
    return best(A, options, control).candidates.front().name;
  };
  EXPECT_EQ(first_of(600), "nystrom, a first result");
  EXPECT_EQ(first_of(std::numeric_limits<double>::infinity()), "exact");
}

TEST(Best, FindsAnExactStoreOfASparseMatrixThatNoMemoryHoldsAsADenseOne) {
  // N is such that 20 N^2 bytes exceed the memory, and the error is not computed from all columns.
  const auto memory = static_cast<double>(available_memory_bytes());
  const Index N = std::max<Index>(75000, static_cast<Index>(1.05 * std::sqrt(memory / 20)));
  if (memory == 0) GTEST_SKIP() << "this system does not tell its free memory";
  if (N > 200000) GTEST_SKIP() << "this machine would hold all entries";
  SparseMatrix A(N, N);
  for (Index i = 0; i < N; i += 100) A.insert(i, (7 * i) % N) = 1.25;
  const BestResult found = best(SparseOperator(A), {.budget = bytes_budget(2e6)});
  EXPECT_EQ(chosen_of(found).method, "exact");
  EXPECT_EQ(found.candidates.size(), 1);
  EXPECT_LE(*found.measurement.relative_error, 1e-14);
}

TEST(Best, HasAFirstResultOfALargeKernelSoonWhereTimeIsLimited) {
  const Index N = 100000;
  const auto memory = static_cast<double>(available_memory_bytes());
  if (memory == 0) GTEST_SKIP() << "this system does not tell its free memory";
  if (memory > 1.5e11) GTEST_SKIP() << "this machine would hold all entries";
  const KernelOperator A(random_normal_matrix(3, RandomStream::kGenerator, N, 2));
  RunControl control;
  std::atomic<bool> stop{false};
  control.stop = &stop;
  control.max_seconds = 60;
  BestEvents events;
  events.started = [&](const BestCandidate& next) { stop = next.method == "hierarchical"; };
  for (const BestOptions& options :
       {BestOptions{.target_error = 1e-8}, BestOptions{.budget = bytes_budget(10.0 * N)}}) {
    stop = false;
    const BestResult found = best(A, options, control, events);
    EXPECT_TRUE(found.interrupted);
    EXPECT_EQ(found.candidates[found.chosen].method, "nystrom");
    EXPECT_LE(found.approximation.storage().bytes, 64 * N);
    EXPECT_TRUE(options.budget.admits(found.approximation.storage(), N, N));
    EXPECT_LE(*found.measurement.relative_error, 0.1);
  }
}

TEST(Best, WhatIsExactReachesATargetInAnyNorm) {
  SparseMatrix A(300, 300);
  for (Index i = 0; i < 300; ++i) A.insert(i, (7 * i) % 300) = 1 + static_cast<double>(i % 2);
  for (const CertifiedNorm norm : {CertifiedNorm::kFrobenius, CertifiedNorm::kSpectral}) {
    // The method wavelet takes still fewer bytes for this error.
    const BestResult found =
        best(SparseOperator(A),
             {.target_error = 1e-3, .norm = norm, .methods = "exact,hierarchical,truncated_svd"});
    EXPECT_TRUE(found.target_is_met);
    EXPECT_EQ(found.candidates[found.chosen].method, "exact");
    for (const BestCandidate& other : found.candidates) {
      if (!other.storage || *other.relative_error > 1e-3) continue;
      EXPECT_GE(other.storage->bytes, found.approximation.storage().bytes) << other.name;
    }
  }
}

TEST(Best, CompressesAllDoublesWhereNothingIsSmaller) {
  const DenseOperator noise(test::random_matrix(80, 90));
  const BestResult found = best(noise, {.target_error = 1e-15});
  const BestCandidate& chosen = found.candidates.at(found.chosen);
  EXPECT_EQ(chosen.method, "exact");
  EXPECT_EQ(found.measurement.relative_error, 0);
  if (!xz::is_available()) GTEST_SKIP() << "this build has no liblzma";
  EXPECT_EQ(chosen.name, "exact, compressed");
  EXPECT_LT(found.approximation.storage().bytes, 0.95 * 8 * 80 * 90);
}

TEST(Best, ANamedMethodIsTriedInAnyCaseButNotItsVariants) {
  const DenseOperator noise(test::random_matrix(80, 90));
  BestOptions options{.budget = bytes_budget(5760), .methods = "hierarchical"};
  const auto built = [&] {
    std::map<std::string, bool> names;
    for (const BestCandidate& each : best(noise, options).candidates)
      names[each.name] = each.relative_error.has_value();
    return names;
  };
  const auto found = built();
  EXPECT_TRUE(found.at("hierarchical"));
  EXPECT_FALSE(found.at("hierarchical, outliers"));
  options.effort = BestEffort::kHigh;
  EXPECT_TRUE(built().at("hierarchical, outliers"));
}

TEST(Best, OfZeroAndOfOneEntry) {
  const Matrix one = Matrix::Ones(1, 1);
  EXPECT_LE(error_of(one, best(DenseOperator(one), {}).approximation), 0.01);
  const BestResult zero = best(DenseOperator(Matrix::Zero(40, 40)), {});
  EXPECT_EQ(test::dense_of(zero.approximation).norm(), 0);
}

TEST(Best, RefusesWhatMakesNoSense) {
  const DenseOperator A(decaying(64, 64, 0.9));
  EXPECT_THROW(best(A, {.target_error = -1}), InvalidArgument);
  EXPECT_THROW(best(A, {.target_error = 1}), InvalidArgument);
  EXPECT_THROW(best(A, {.target_error = std::nan("")}), InvalidArgument);
  EXPECT_THROW(best(A, {.target_error = 1e-18}), InvalidArgument);
  EXPECT_THROW(best(A, {.confidence = 1}), InvalidArgument);
  EXPECT_THAT([&] { best(A, {.budget = bytes_budget(3)}); },
              testing::ThrowsMessage<BudgetTooSmall>(HasSubstr("at least")));
  Matrix bad = Matrix::Ones(20, 20);
  bad(3, 4) = std::nan("");
  EXPECT_THROW(best(DenseOperator(bad), {}), NumericalError);
}

}  // namespace
}  // namespace matapprox
