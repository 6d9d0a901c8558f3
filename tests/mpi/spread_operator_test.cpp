#include "mpi/spread_operator.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "matapprox/core/run_control.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/lazy.hpp"
#include "mpi/processes.hpp"
#include "mpi/row_exchange.hpp"
#include "mpi/sparse_rows.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/recorder.hpp"

namespace matapprox::mpi {
namespace {

using Source = std::shared_ptr<const SparseOperator>;

Source sparse(SparseMatrix values) {
  return std::make_shared<const SparseOperator>(std::move(values));
}

/// Most entries are in few rows, which few processes get; some rows are empty.
Source uneven() {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index j = 0; j < 90; ++j) entries.emplace_back(3, j, 1.0 + static_cast<double>(j));
  for (Index i = 40; i < 60; ++i) entries.emplace_back(i, 2 * i - 40, -0.5);
  SparseMatrix A(120, 90);
  A.setFromTriplets(entries.begin(), entries.end());
  return sparse(std::move(A));
}

std::vector<Source> sources() {
  return {sparse(matapprox::test::random_sparse(300, 200, 7)),
          sparse(matapprox::test::random_sparse(200, 300, 3, 2)),
          sparse(matapprox::test::random_sparse(250, 250, 5, 3)),
          sparse(matapprox::test::grid_laplacian(17)),
          uneven(),
          sparse(matapprox::test::random_sparse(2, 3, 2, 4)),
          sparse(SparseMatrix(5, 4))};
}

TEST(SpreadOperator, ProductsHaveTheBitsOfOneProcess) {
  for (const Source& A : sources()) {
    const SpreadOperator spread(test::leader(), A);
    for (const Index columns : {1, 2, 3, 8, 17}) {
      const Matrix X = matapprox::test::random_matrix(A->cols(), columns);
      const Matrix Y = matapprox::test::random_matrix(A->rows(), columns, 2);
      EXPECT_SAME_BITS(spread.apply(X), A->apply(X));
      EXPECT_SAME_BITS(spread.apply_transpose(Y), A->apply_transpose(Y));
    }
    EXPECT_EQ(spread.diagonal(), A->diagonal());
    EXPECT_EQ(spread.columns_at(std::vector<Index>{1, 0}), A->columns_at(std::vector<Index>{1, 0}));
    EXPECT_EQ(spread.rows_at(std::vector<Index>{1, 0}), A->rows_at(std::vector<Index>{1, 0}));
    EXPECT_EQ(&spread.underlying(), A.get());
  }
}

std::vector<KernelOptions> kernels() {
  std::vector<KernelOptions> all;
  for (const KernelFunction function : {KernelFunction::kGaussian,
                                        KernelFunction::kLaplacian,
                                        KernelFunction::kMatern32,
                                        KernelFunction::kPolynomial,
                                        KernelFunction::kCosine})
    all.push_back({.function = function});
  return all;
}

// Rows are distributed by tiles of 32 to 256: fewer tiles than processes, and unequal numbers per
// process.
TEST(SpreadOperator, ProductsWithKernelsHaveTheBitsOfOneProcess) {
  for (const Index dimension : {2, 20}) {
    for (const Index n : {1, 300, 1500}) {
      Matrix points = matapprox::test::random_matrix(n, dimension, 4);
      points.row(n / 2).setZero();
      for (const KernelOptions& options : kernels()) {
        SCOPED_TRACE(std::string(enum_name(options.function)) + ", " + std::to_string(n));
        const auto A = std::make_shared<const KernelOperator>(points, options);
        const SpreadOperator spread(test::leader(), A);
        for (const Index columns : {1, 5, 70}) {
          const Matrix X = matapprox::test::random_matrix(n, columns);
          EXPECT_SAME_BITS(spread.apply(X), A->apply(X));
          EXPECT_SAME_BITS(spread.apply_transpose(X), A->apply_transpose(X));
        }
        EXPECT_EQ(spread.diagonal(), A->diagonal());
      }
    }
  }
}

// More points than fit in one panel.
TEST(SpreadOperator, AKernelOfManyPointsHasTheBitsOfOneProcess) {
  const auto A =
      std::make_shared<const KernelOperator>(matapprox::test::random_matrix(9000, 30, 4));
  ASSERT_GT(A->rows(), panel_rows(1 + 30));
  const SpreadOperator spread(test::leader(), A);
  const Matrix X = matapprox::test::random_matrix(9000, 1);
  EXPECT_SAME_BITS(spread.apply(X), A->apply(X));
}

TEST(SpreadOperator, AProductWithAKernelIsStoppedAmongItsPanels) {
  const auto A =
      std::make_shared<const KernelOperator>(matapprox::test::random_matrix(9000, 30, 4));
  const SpreadOperator spread(test::leader(), A);
  const MultiVector X(spread.memory_space(), matapprox::test::random_matrix(9000, 20));
  RunControl control;
  control.max_seconds = 1e-3;  // during the product, which takes many times as long
  {
    const StopScope scope(control, "test");
    EXPECT_REFUSED(Interrupted, spread.apply(X.columns()), "test");
  }
  EXPECT_TRUE(to_host(spread.apply(X.columns()).columns()).allFinite());
}

TEST(SpreadOperator, TheEntriesAreDealtEvenly) {
  const Source A = sparse(matapprox::test::random_sparse(2000, 2000, 5));
  const Layout layout = layout_by_entries(A->values(), test::processes());
  const Index all = A->values().nonZeros() + 2 * 2000;
  for (int p = 0; p < test::processes(); ++p) {
    const Index* begins = A->values().outerIndexPtr();
    const Index own = begins[layout.first(p + 1)] - begins[layout.first(p)] + 2 * layout.count(p);
    EXPECT_NEAR(static_cast<double>(own), static_cast<double>(all) / test::processes(), 20) << p;
  }
  for (const Source& B : sources()) {
    EXPECT_EQ(columns_by_entries(B->values(), test::processes()),
              layout_by_entries(SparseMatrix(B->values().transpose()), test::processes()));
  }
}

/// The same run with the matrix on one process and on all.
struct Runs {
  Approximation serial;
  Approximation spread;
  Approximation again;
};

Approximation on_leader(const Approximation& result) {
  return {host_factors(result.factors()), result.summary, result.symmetrized()};
}

template <class Method>
Runs runs_of(const Source& A, const Method& method) {
  const SpreadOperator spread(test::leader(), A);
  return {method(*A), on_leader(method(spread)), on_leader(method(spread))};
}

const Matrix& values_of(const Approximation& result, std::size_t factor) {
  return std::get<Matrix>(*result.factors()[factor].value);
}

void expect_equal_factors(const Approximation& a, const Approximation& b) {
  ASSERT_EQ(a.factors().size(), b.factors().size());
  for (std::size_t f = 0; f < a.factors().size(); ++f) {
    if (std::holds_alternative<Matrix>(*a.factors()[f].value)) {
      EXPECT_SAME_BITS(values_of(a, f), values_of(b, f));
    }
  }
}

/// Checks for the bits of the previous run, and on one process for those of the serial run.
void expect_same_runs(const Runs& runs) {
  expect_equal_factors(runs.spread, runs.again);
  if (test::processes() == 1) expect_equal_factors(runs.spread, runs.serial);
}

Matrix entries_of(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

TEST(SpreadOperator, TruncatedSvdFindsTheSameTriplets) {
  for (const SvdAlgorithm algorithm : {SvdAlgorithm::kKrylov, SvdAlgorithm::kRandomized}) {
    for (const Source& A : {sparse(matapprox::test::random_sparse(600, 500, 6)),
                            sparse(matapprox::test::grid_laplacian(22))}) {
      const Runs runs = runs_of(A, [&](const LinearOperator& matrix) {
        return truncated_svd(matrix, {.rank = 6, .algorithm = algorithm});
      });
      expect_same_runs(runs);
      const auto& S = std::get<Vector>(*runs.serial.factors()[1].value);
      const auto& spread_S = std::get<Vector>(*runs.spread.factors()[1].value);
      EXPECT_CLOSE(Matrix(spread_S), Matrix(S), 1e-12);
      EXPECT_EQ(runs.spread.summary.iterations, runs.serial.summary.iterations);
    }
  }
}

/// Operations on factors that stay on the processes give the results of factors on the leader.
void expect_placed(const Approximation& found, const SpreadOperator& A, std::size_t factor) {
  EXPECT_TRUE(std::holds_alternative<PlacedMatrix>(*found.factors()[factor].value));
  EXPECT_EQ(found.memory_space(), A.memory_space());
  const Approximation here = on_leader(found);
  EXPECT_EQ(found.storage().bytes, here.storage().bytes);
  const Matrix X = matapprox::test::random_matrix(A.cols(), 7);
  const Matrix Y = matapprox::test::random_matrix(A.rows(), 7, 2);
  EXPECT_CLOSE(found.apply(X), here.apply(X), 1e-14);
  const MultiVector y(found.memory_space(), Y);
  EXPECT_CLOSE(
      to_host(found.apply_transpose(y.columns()).columns()), here.apply_transpose(Y), 1e-14);
  EXPECT_CLOSE(entries_of(found), entries_of(here), 1e-14);
}

// The rank of four does not split a pair of equal values of the grid.
TEST(SpreadOperator, TripletsStayOnAllProcesses) {
  const Source A = sparse(matapprox::test::grid_laplacian(20));
  const SpreadOperator spread(test::leader(), A);
  for (const bool symmetric : {false, true}) {
    const TruncatedSvdOptions options{
        .rank = 4, .algorithm = SvdAlgorithm::kKrylov, .symmetric_storage = symmetric};
    const Approximation found = truncated_svd(spread, options);
    expect_placed(found, spread, 0);
    expect_placed(found, spread, 2);
    EXPECT_CLOSE(entries_of(found), entries_of(truncated_svd(*A, options)), 1e-10);
  }
}

TEST(SpreadOperator, SketchesStayOnAllProcesses) {
  const Source A = sparse(matapprox::test::random_sparse(1100, 700, 6));
  const SpreadOperator spread(test::leader(), A);
  for (const ProjectionKind kind :
       {ProjectionKind::kGaussian, ProjectionKind::kRademacher, ProjectionKind::kSrht}) {
    const JlProjectionOptions options{.rank = 9, .kind = kind};
    const Approximation found = jl_projection(spread, options);
    expect_placed(found, spread, 0);
    EXPECT_CLOSE(entries_of(found), entries_of(jl_projection(*A, options)), 1e-13);
  }
  const Source B = sparse(matapprox::test::random_sparse(600, 600, 6));
  const SpreadOperator square(test::leader(), B);
  const NystromOptions options{.rank = 9, .form = NystromForm::kGeneralized};
  const Approximation found = nystrom(square, options);
  expect_placed(found, square, 0);
  expect_placed(found, square, 2);
  EXPECT_CLOSE(entries_of(found), entries_of(nystrom(*B, options)), 1e-11);
}

// Fewer directions than columns: blocks are too nearly dependent for Cholesky QR, and random
// directions are added.
TEST(SpreadOperator, TruncatedSvdOfLowRank) {
  const Source A = uneven();
  const Runs runs = runs_of(A, [](const LinearOperator& matrix) {
    return truncated_svd(matrix, {.rank = 25, .algorithm = SvdAlgorithm::kKrylov});
  });
  expect_same_runs(runs);
  EXPECT_CLOSE(entries_of(runs.spread), entries_of(*A), 1e-13);
}

TEST(SpreadOperator, OtherMethodsFindTheSame) {
  const Source A = sparse(matapprox::test::random_sparse(400, 400, 6));
  const Runs nystroms = runs_of(A, [](const LinearOperator& matrix) {
    return nystrom(matrix, {.rank = 12, .form = NystromForm::kGeneralized});
  });
  expect_same_runs(nystroms);
  EXPECT_CLOSE(entries_of(nystroms.spread), entries_of(nystroms.serial), 1e-11);

  const Runs projections =
      runs_of(A, [](const LinearOperator& matrix) { return jl_projection(matrix, {.rank = 12}); });
  expect_same_runs(projections);
  EXPECT_CLOSE(entries_of(projections.spread), entries_of(projections.serial), 1e-11);

  // The same columns and rows are chosen and stored unchanged.
  const Runs curs =
      runs_of(A, [](const LinearOperator& matrix) { return cur(matrix, {.rank = 12}); });
  expect_same_runs(curs);
  EXPECT_CLOSE(entries_of(curs.spread), entries_of(curs.serial), 1e-11);

  const Source B = sparse(matapprox::test::grid_laplacian(20));
  const Runs landmarks = runs_of(B, [](const LinearOperator& matrix) {
    return nystrom(matrix, {.rank = 12, .form = NystromForm::kPsd});
  });
  expect_same_runs(landmarks);
  expect_equal_factors(landmarks.spread, landmarks.serial);
}

/// A checkpoint of a run on all processes resumes on one, and a checkpoint of one process resumes
/// on all: both give the result of the uninterrupted run up to rounding.
template <class Method>
void expect_goes_on_elsewhere(const Source& A, const Method& method) {
  const SpreadOperator spread(test::leader(), A);
  const Matrix whole = entries_of(method(*A, RunControl()));
  const auto check = [&](const LinearOperator& from, const LinearOperator& to) {
    matapprox::test::Recorder recorder;
    method(from, recorder.control);
    ASSERT_GE(recorder.checkpoints.size(), 3U);
    for (const matapprox::test::Checkpoint& point :
         {std::cref(recorder.checkpoints.front()),
          std::cref(recorder.checkpoints[recorder.checkpoints.size() / 2])}) {
      EXPECT_CLOSE(
          entries_of(method(to, matapprox::test::going_on_from(point.state))), whole, 1e-10);
    }
  };
  check(spread, *A);
  check(*A, spread);
}

// The columns of a basis stay on their processes while they are written to the file and read from
// it.
TEST(SpreadOperator, ABasisIsSavedAPieceAtATime) {
  const Source A = sparse(matapprox::test::random_sparse(40000, 20000, 4));
  const SpreadOperator spread(test::leader(), A);
  const TruncatedSvdOptions options{.rank = 10, .algorithm = SvdAlgorithm::kRandomized};
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("basis{}.h5", getpid());
  Index last = 0;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation& best, const ResumeState& state) {
    last = state.counter("steps");
    for (const char* name : {"left", "right"})
      EXPECT_TRUE(test::lies_over_processes(state, name)) << name;
    SavedRecord record;
    record.resume = state;
    save(path, best, record);
  };
  const Approximation whole = truncated_svd(spread, options, control);
  EXPECT_GT(last, 1);
  const SavedFit fit = read_saved_fit(path);
  std::filesystem::remove(path);
  EXPECT_EQ(fit.record.resume.counter("steps"), last);
  EXPECT_FALSE(fit.record.resume.blocks.empty());
  const RunControl resume = matapprox::test::going_on_from(fit.record.resume);
  const std::vector<Index> some = index_range(0, 20);
  const Matrix wanted = whole.columns_at(some);
  EXPECT_SAME_BITS(truncated_svd(spread, options, resume).columns_at(some), wanted);
  EXPECT_CLOSE(truncated_svd(*A, options, resume).columns_at(some), wanted, 1e-10);
}

// A checkpoint does not depend on the number of processes.
TEST(SpreadOperator, MethodsResumeFromACheckpointOnOneProcessAndOnAll) {
  const Source rectangular = sparse(matapprox::test::random_sparse(300, 200, 6));
  for (const SvdAlgorithm algorithm : {SvdAlgorithm::kKrylov, SvdAlgorithm::kRandomized}) {
    expect_goes_on_elsewhere(rectangular, [&](const LinearOperator& A, const RunControl& control) {
      return truncated_svd(A, {.rank = 12, .algorithm = algorithm}, control);
    });
  }
  expect_goes_on_elsewhere(sparse(matapprox::test::grid_laplacian(20)),
                           [](const LinearOperator& A, const RunControl& control) {
                             return nystrom(A, {.rank = 40, .form = NystromForm::kPsd}, control);
                           });
}

// Methods request products with blocks that stay on their processes.
TEST(SpreadOperator, CountedProductsAreOnAllProcesses) {
  const Source A = sparse(matapprox::test::random_sparse(100, 80, 4));
  const SpreadOperator spread(test::leader(), A);
  const CountedOperator counted(spread);
  const Matrix X = matapprox::test::random_matrix(80, 3);
  const MultiVector x(counted.memory_space(), X);
  EXPECT_SAME_BITS(to_host(counted.apply(x.columns()).columns()), A->apply(X));
  EXPECT_EQ(counted.passes(), 1);
  EXPECT_FALSE(counted.memory_space()->on_host());
}

}  // namespace
}  // namespace matapprox::mpi
