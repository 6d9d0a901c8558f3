#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/recorder.hpp"
#include "support/sanitizers.hpp"

// Stops, checkpoints and resumption of a truncated SVD by krylov or randomized.

namespace matapprox {
namespace {

/// A matrix that requests a stop after the given number of products.
class StopsAfter final : public LinearOperator {
 public:
  StopsAfter(const Matrix& A, Index products) : A_(A), left_(products) {}
  const std::atomic<bool>& stop() const { return stop_; }

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Cost cost() const override { return DenseOperator(A_).cost(); }
  KnownFacts known_facts() const override {
    KnownFacts facts;
    facts.symmetric = A_.rows() == A_.cols() && A_ == A_.transpose();
    return facts;
  }
  std::string description() const override { return "a matrix that stops"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    count();
    Y = DenseOperator(A_).apply(X);
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    count();
    Y = DenseOperator(A_).apply_transpose(X);
  }
  void count() const {
    if (--left_ == 0) stop_ = true;
  }

  Matrix A_;
  mutable Index left_;
  mutable std::atomic<bool> stop_{false};
};

std::vector<test::Checkpoint> checkpoints_of(const LinearOperator& A,
                                             const TruncatedSvdOptions& options) {
  test::Recorder recorder;
  truncated_svd(A, options, recorder.control);
  return recorder.checkpoints;
}

Approximation resumed(const LinearOperator& A,
                      const TruncatedSvdOptions& options,
                      const ResumeState& state) {
  return truncated_svd(A, options, test::going_on_from(state));
}

void expect_same(const Approximation& found, const Approximation& expected) {
  const auto value = [](const Approximation& of, std::size_t factor) -> const FactorValue& {
    return *of.factors()[factor].value;
  };
  for (const std::size_t f : {0U, 2U})
    EXPECT_SAME_BITS(std::get<Matrix>(value(found, f)), std::get<Matrix>(value(expected, f)));
  EXPECT_SAME_BITS(std::get<Vector>(value(found, 1)), std::get<Vector>(value(expected, 1)));
  EXPECT_EQ(found.summary.iterations, expected.summary.iterations);
  EXPECT_EQ(found.summary.form, expected.summary.form);
  EXPECT_EQ(found.summary.message, expected.summary.message);
  EXPECT_EQ(found.summary.termination, expected.summary.termination);
}

/// Checks resumption from every checkpoint; returns the largest value of `counter` in the states.
Index expect_resumable(const Matrix& values,
                       const TruncatedSvdOptions& options,
                       const std::string& counter) {
  const DenseOperator A(values);
  const Approximation whole = truncated_svd(A, options);
  const std::vector<test::Checkpoint> points = checkpoints_of(A, options);
  Index largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    SCOPED_TRACE(i);
    largest = std::max(largest, points[i].state.counter(counter));
    if (test::kSanitized && i % 5 != 0) continue;
    expect_same(resumed(A, options, points[i].state), whole);
  }
  return largest;
}

Matrix slow_spectrum(bool symmetric) {
  const Matrix A = test::random_matrix(200, symmetric ? 200 : 160);
  return symmetric ? Matrix(A + A.transpose()) : A;
}

/// Each singular value has multiplicity 18, so that further searches of the complement follow, with
/// more columns each time, and with wider blocks.
Matrix with_copies(bool symmetric) {
  Vector sigma(360);
  for (Index i = 0; i < 360; ++i) sigma(i) = std::pow(0.9, static_cast<double>(i / 18));
  Matrix A = sigma.asDiagonal();
  if (!symmetric) A.rowwise().reverseInPlace();
  return A;
}

class SvdCheckpointsOf : public testing::TestWithParam<SvdAlgorithm> {};
INSTANTIATE_TEST_SUITE_P(Algorithms,
                         SvdCheckpointsOf,
                         testing::Values(SvdAlgorithm::kKrylov, SvdAlgorithm::kRandomized),
                         [](const auto& tested) { return std::string(enum_name(tested.param)); });

TEST_P(SvdCheckpointsOf, ResumeToTheSameBits) {
  for (const bool symmetric : {false, true}) {
    SCOPED_TRACE(symmetric);
    const TruncatedSvdOptions options{
        .rank = 6, .algorithm = GetParam(), .symmetric_storage = symmetric};
    const bool restarts = GetParam() == SvdAlgorithm::kKrylov;
    EXPECT_GE(expect_resumable(slow_spectrum(symmetric), options, restarts ? "restarts" : "steps"),
              1);
  }
}

TEST_P(SvdCheckpointsOf, ResumeAmongCopies) {
  for (const bool symmetric : {false, true}) {
    SCOPED_TRACE(symmetric);
    const TruncatedSvdOptions options{.rank = 20, .algorithm = GetParam(), .block_size = 2};
    const bool rounds = GetParam() == SvdAlgorithm::kKrylov;
    EXPECT_GE(expect_resumable(with_copies(symmetric), options, rounds ? "round" : "steps_before"),
              1);
  }
}

TEST_P(SvdCheckpointsOf, ResumeTowardsATolerance) {
  const TruncatedSvdOptions options{.frobenius_tolerance = 0.3, .algorithm = GetParam()};
  EXPECT_EQ(expect_resumable(slow_spectrum(false), options, "count"), 128);
}

// The stop may be requested in any product, including the second of a step.
TEST_P(SvdCheckpointsOf, ResumeFromWhereItWasStopped) {
  for (const bool symmetric : {false, true}) {
    const Matrix values = slow_spectrum(symmetric);
    const TruncatedSvdOptions options{.rank = 6, .algorithm = GetParam()};
    const Approximation whole = truncated_svd(StopsAfter(values, 1000000), options);
    // A krylov space is full after 22 steps.
    for (const Index products : {2, 3, 4, 5, 6, 21, 22, 23, 42, 43, 44, 45, 46, 47}) {
      SCOPED_TRACE(products);
      const StopsAfter A(values, products);
      ResumeState state;
      RunControl control;
      control.stop = &A.stop();
      control.checkpoint = [&](const Approximation& /*best*/, const ResumeState& last) {
        state = last;
      };
      try {
        const Approximation cut = truncated_svd(A, options, control);
        if (cut.summary.termination != Termination::kInterrupted) continue;  // the run had ended
      } catch (const Interrupted&) {  // fewer than six triplets were found
      }
      ASSERT_FALSE(state.empty());
      expect_same(resumed(StopsAfter(values, 1000000), options, state), whole);
    }
  }
}

// The approximation of a checkpoint is as good as its space, and its error decreases.
TEST_P(SvdCheckpointsOf, ComeWithTheTripletsSoFar) {
  const Matrix values = slow_spectrum(false);
  const auto points =
      checkpoints_of(DenseOperator(values), {.rank = 6, .algorithm = GetParam(), .block_size = 2});
  ASSERT_GE(points.size(), 5U);
  EXPECT_EQ(points.front().best.summary.rank, 2);
  EXPECT_EQ(points.back().best.summary.rank, 6);
  double before = values.norm();
  for (const test::Checkpoint& point : points) {
    const double error = (values - test::dense_of(point.best)).norm();
    EXPECT_LE(error, before * (1 + 1e-12));
    before = error;
  }
  const Vector sigma = Eigen::JacobiSVD<Matrix>(values).singularValues();
  const double least = sigma.tail(154).norm();
  EXPECT_LE(before, 1.02 * least);
}

TEST_P(SvdCheckpointsOf, RefuseWhatContradictsItself) {
  const DenseOperator A(slow_spectrum(false));
  const TruncatedSvdOptions options{.rank = 6, .algorithm = GetParam()};
  const ResumeState state = checkpoints_of(A, options)[2].state;
  for (std::size_t i = 0; i < state.counters.size(); ++i) {
    for (const Index value : {Index{-1}, Index{1} << 60}) {
      ResumeState damaged = state;
      damaged.counters[i].second = value;
      EXPECT_REFUSED(Error, resumed(A, options, damaged), "") << damaged.counters[i].first;
    }
    ResumeState lacking = state;
    lacking.counters.erase(lacking.counters.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_REFUSED(FileError, resumed(A, options, lacking), state.counters[i].first);
  }
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    if (state.arrays[i].second.size() == 0) continue;
    ResumeState damaged = state;
    Vector& numbers = damaged.arrays[i].second;
    numbers(0) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_REFUSED(InvalidArgument, resumed(A, options, damaged), "") << damaged.arrays[i].first;
    numbers.conservativeResize(numbers.size() - 1);
    EXPECT_REFUSED(InvalidArgument, resumed(A, options, damaged), "") << damaged.arrays[i].first;
  }
  EXPECT_REFUSED(InvalidArgument, resumed(A, {.rank = 7, .algorithm = GetParam()}, state), "");
  EXPECT_REFUSED(InvalidArgument,
                 resumed(DenseOperator(test::random_matrix(80, 70)), options, state),
                 "basis");
}

}  // namespace
}  // namespace matapprox
