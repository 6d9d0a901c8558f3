#include "matapprox/kernels/chord.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "kernels/chord_chain.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/chord/fit.hpp"
#include "mpi/chord_fit.hpp"
#include "mpi/processes.hpp"
#include "mpi/spread_chain.hpp"
#include "mpi/spread_operator.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::mpi {
namespace {

using matapprox::test::random_matrix;

/// Factors with 3, 1 and up to 4 links, some of which lead backward, one of them past half of the
/// rows.
ChordPattern unequal(Index n) {
  ChordPattern pattern{n, {{0, n - 1, n / 3 + 1}, {n / 2}, {n / 2 + 1, 0, n - 2, 1}}};
  for (std::vector<Index>& offsets : pattern.offsets) {
    for (Index& offset : offsets) offset %= n;
    std::ranges::sort(offsets);
    offsets.erase(std::ranges::unique(offsets).begin(), offsets.end());
  }
  return pattern;
}

ChordFactors chain_of(const ChordPattern& pattern) {
  const Matrix numbers = random_matrix(pattern.stored_numbers(), 1, 5);
  return {pattern, {numbers.data(), numbers.data() + numbers.size()}};
}

using Product = std::shared_ptr<const FactorProduct>;

Product product_of(const ChordPattern& pattern, bool transposed = false, bool symmetrized = false) {
  return std::make_shared<const FactorProduct>(
      std::vector{make_factor("W", chain_of(pattern), transposed)}, symmetrized);
}

void expect_the_same_products(const Product& A, std::initializer_list<Index> columns) {
  const SpreadOperator spread(test::leader(), A);
  for (const Index count : columns) {
    const Matrix X = random_matrix(A->rows(), count);
    EXPECT_SAME_BITS(spread.apply(X), A->apply(X)) << A->rows() << " rows, " << count;
    EXPECT_SAME_BITS(spread.apply_transpose(X), A->apply_transpose(X))
        << A->rows() << " rows, " << count;
  }
}

// Fewer rows than processes; row counts that the number of processes divides or does not; vectors
// and panels.
TEST(ChordSpread, ProductsHaveTheBitsOfOneProcess) {
  for (const Index n : {1, 2, 3, 6, 100}) {
    for (const ChordPattern& pattern :
         {chord_reference_pattern(n), chord_alternating_pattern(n), unequal(n)})
      expect_the_same_products(product_of(pattern), {1, 2, 3, 40});
  }
  expect_the_same_products(product_of(chord_reference_pattern(4096)), {1, 8});
  expect_the_same_products(product_of(chord_alternating_pattern(5000)), {1, 35});
  expect_the_same_products(product_of(chord_mixed_radix_pattern(5000, 100)), {2, 3});
  expect_the_same_products(product_of(unequal(5000)), {1, 9});
}

TEST(ChordSpread, TransposedAndSymmetrizedChainsToo) {
  for (const Index n : {6, 1000}) {
    expect_the_same_products(product_of(unequal(n), true, false), {1, 5});
    expect_the_same_products(product_of(unequal(n), false, true), {1, 5});
    expect_the_same_products(product_of(chord_reference_pattern(n), true, true), {3});
  }
}

TEST(ChordSpread, TakesOneChainOnly) {
  const auto is_dealt = [](const std::shared_ptr<const LinearOperator>& A) {
    return spread(test::leader(), A) != nullptr;
  };
  const auto product = [](std::vector<Factor> factors) {
    return std::make_shared<const FactorProduct>(std::move(factors));
  };
  EXPECT_TRUE(is_dealt(product_of(unequal(6))));
  EXPECT_FALSE(is_dealt(product({make_factor("A", random_matrix(3, 3))})));
  EXPECT_FALSE(is_dealt(
      product({make_factor("W", chain_of(unequal(6))), make_factor("V", chain_of(unequal(6)))})));
}

// The values of a chain are the rows of one factor after the other: each process has some rows of
// each factor.
TEST(ChordSpread, ValuesComeBackAsTheyWereDealt) {
  for (const Index n : {3, 1001}) {
    const ChordPattern pattern = unequal(n);
    const Layout layout = chain_layout(even_layout(n, test::processes()), pattern);
    EXPECT_EQ(layout.rows(), pattern.stored_numbers());
    const auto space = test::space_of({layout});
    const Matrix values = random_matrix(pattern.stored_numbers(), 3);
    const MultiVector block(space, values);
    EXPECT_SAME_BITS(to_host(block.columns()), values);
    EXPECT_SAME_BITS(to_host(block.columns(1, 1)), values.col(1));
    const MultiVector normal =
        random_normal_block(space, 3, RandomStream::kChordStart, pattern.stored_numbers(), 2, 4);
    const MultiVector wanted = random_normal_block(
        host_space(), 3, RandomStream::kChordStart, pattern.stored_numbers(), 2, 4);
    EXPECT_SAME_BITS(to_host(normal.columns()), to_host(wanted.columns()));
  }
}

ChordObjectiveMaker over_processes() {
  return [](const ChordPattern& pattern, Index max_columns, const ChordTarget& target) {
    return make_spread_chord_objective(test::leader(), pattern, max_columns, target);
  };
}

/// Compares f and its gradient from the kernels with those over all processes.
void expect_the_same_objective(const LinearOperator& A,
                               const ChordPattern& pattern,
                               const std::vector<Index>& J,
                               bool symmetrized) {
  SCOPED_TRACE(fmt::format("{}, {} columns, {} factors, symmetrized {}",
                           A.description(),
                           J.size(),
                           pattern.factors(),
                           symmetrized));
  constexpr double kUnit = 0.7;
  const auto columns = [&](std::span<const Index> list, double* panel) {
    const Matrix X = A.columns_at(list) / kUnit;
    for (Index i = 0; i < X.rows(); ++i) {
      for (Index c = 0; c < X.cols(); ++c) panel[i * X.cols() + c] = X(i, c);
    }
  };
  const std::vector<double> values = chain_of(pattern).values;
  const Index numbers = pattern.stored_numbers();
  Matrix gradient(numbers, 1);
  const double f = kernels::chord_objective<double>(
      pattern,
      values.data(),
      J,
      [&](Index first, Index count, double* panel) {
        columns(
            std::span(J).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
            panel);
      },
      gradient.data(),
      symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct);

  const auto objective =
      over_processes()(pattern, std::ssize(J), {A, kUnit, columns, false, symmetrized});
  const MultiVector point(objective->space(), Eigen::Map<const Matrix>(values.data(), numbers, 1));
  MultiVector slopes(objective->space(), numbers, 1);
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(objective->evaluate(J, point.data(), nullptr), f);
    EXPECT_EQ(objective->evaluate(J, point.data(), slopes.data()), f);
    EXPECT_SAME_BITS(to_host(slopes.columns()), gradient);
  }
  // An evaluation leaves no state for the next one.
  const std::vector<Index> one{J.back()};
  EXPECT_NE(objective->evaluate(one, point.data(), nullptr), f);
  EXPECT_EQ(objective->evaluate(J, point.data(), nullptr), f);
}

// Fewer rows than processes, less than a chunk of the sums, and several chunks; one panel, several,
// and more than the number of gradients that are summed separately.
TEST(ChordFit, TheObjectiveHasTheBitsOfOneProcess) {
  for (const Index n : {3, 6, 70, 2500}) {
    const SparseOperator sparse(matapprox::test::random_sparse(n, n, std::min<Index>(n, 4)));
    const DenseOperator dense(random_matrix(n, n));
    std::vector<Index> some{n - 1};
    for (Index j = 0; j < std::min<Index>(n - 1, 60); ++j) some.push_back(j * (n - 1) / 60);
    for (const bool symmetrized : {false, true}) {
      expect_the_same_objective(sparse, chord_reference_pattern(n), some, symmetrized);
      expect_the_same_objective(dense, unequal(n), some, symmetrized);
    }
  }
  const SparseOperator sparse(matapprox::test::random_sparse(300, 300, 4));
  expect_the_same_objective(sparse, unequal(300), index_range(0, 300), false);
  expect_the_same_objective(DenseOperator(random_matrix(5, 5)), {5, {{0, 2}}}, {3, 1}, true);
}

std::vector<double> chain_values_of(const Approximation& result) {
  return std::get<ChordFactors>(*host_factors(result.factors()).front().value).values;
}

// On several processes the fit runs on all of them because the matrix is distributed.
TEST(ChordFit, ASampledFitEndsInTheBitsOfOneProcess) {
  const auto A = std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(8));
  const SpreadOperator spread(test::leader(), A);
  const CountedOperator counted(spread);
  const CountedOperator counted_here(*A);
  const ChordOptions options{.adam_steps = 300, .columns_per_step = 8};
  const Approximation here = chord(counted_here, options);
  const Approximation on_all = chord(counted, options);
  EXPECT_EQ(chain_values_of(on_all), chain_values_of(here));
  EXPECT_EQ(on_all.summary.message, here.summary.message);
  EXPECT_EQ(counted.passes(), counted_here.passes());
  ASSERT_EQ(on_all.summary.history.size(), here.summary.history.size());
  for (std::size_t i = 0; i < here.summary.history.size(); ++i)
    EXPECT_EQ(on_all.summary.history[i].relative_error, here.summary.history[i].relative_error);
}

// The leader computes the columns of a kernel matrix and of a chain.
TEST(ChordFit, ASampledFitToAKernelAndToAChainToo) {
  const ChordOptions options{.adam_steps = 30, .columns_per_step = 8};
  const auto kernel = std::make_shared<const KernelOperator>(random_matrix(50, 2));
  EXPECT_EQ(chain_values_of(chord(SpreadOperator(test::leader(), kernel), options)),
            chain_values_of(chord(*kernel, options)));
  const Product chain = product_of(unequal(50));
  EXPECT_EQ(chain_values_of(chord(SpreadOperator(test::leader(), chain), options)),
            chain_values_of(chord(*chain, options)));
}

RunControl elsewhere() {
  RunControl control;
  control.on_device = true;
  return control;
}

TEST(ChordFit, ADenseAndASymmetrizedSampledFitToo) {
  const Matrix noise = random_matrix(50, 50);
  const DenseOperator A(noise + noise.transpose());
  for (const bool symmetrize : {false, true}) {
    const ChordOptions options{.symmetrize = symmetrize, .adam_steps = 30, .columns_per_step = 8};
    EXPECT_EQ(chain_values_of(chord_fit::fit_chord(A, options, elsewhere(), over_processes())),
              chain_values_of(chord(A, options)));
  }
}

// Scalar products over the rows are summed in a different order than on one process.
TEST(ChordFit, LbfgsEndsWhereThatOfOneProcessEnds) {
  const auto A = std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(6));
  const ChordOptions options{.optimizer = ChordOptimizer::kBfgs,
                             .starts = 1,
                             .max_iterations = 40,
                             .newton_steps = 0,
                             .tolerance = 0};
  const Approximation here = chord(*A, options);
  const Approximation on_all = chord_fit::fit_chord(*A, options, elsewhere(), over_processes());
  const auto as_matrix = [](const Approximation& result) {
    const std::vector<double> values = chain_values_of(result);
    return Matrix(Eigen::Map<const Matrix>(values.data(), std::ssize(values), 1));
  };
  EXPECT_EQ(on_all.summary.iterations, here.summary.iterations);
  EXPECT_CLOSE(as_matrix(on_all), as_matrix(here), 1e-8);
}

// A checkpoint does not depend on the number of processes.
TEST(ChordFit, ResumesFromACheckpointOnOneProcessAndOnAll) {
  const auto A = std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(7));
  const SpreadOperator spread(test::leader(), A);
  const ChordOptions options{.adam_steps = 40, .columns_per_step = 8};
  std::vector<ResumeState> states;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation&, const ResumeState& state) {
    if (states.size() < 21) states.push_back(state.with_own_numbers());
  };
  const Approximation whole = chord(spread, options, control);
  RunControl resume;
  resume.resume = &states.back();
  EXPECT_EQ(chain_values_of(chord(*A, options, resume)), chain_values_of(whole));
  EXPECT_EQ(chain_values_of(chord(spread, options, resume)), chain_values_of(whole));
}

// The vectors of a state stay on their processes while they are written to the file and read from
// it.
TEST(ChordFit, ACheckpointIsSavedAndReadAPieceAtATime) {
  const auto A = std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(90));
  const SpreadOperator spread(test::leader(), A);
  const ChordOptions options{.adam_steps = 6, .columns_per_step = 8};
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / fmt::format("checkpoint{}.h5", getpid());
  Index saved = 0;
  RunControl control;
  control.checkpoint_seconds = 0;
  control.checkpoint = [&](const Approximation& best, const ResumeState& state) {
    if (++saved > 3) return;
    // A fit on one process keeps its vectors on that process.
    for (const char* name : {"point", "mean", "square", "best"}) {
      EXPECT_EQ(test::lies_over_processes(state, name), test::processes() > 1) << name;
    }
    SavedRecord record;
    record.resume = state;
    save(path, best, record);
  };
  const Approximation whole = chord(spread, options, control);
  EXPECT_GT(saved, 3);
  const SavedFit fit = read_saved_fit(path);
  std::filesystem::remove(path);
  EXPECT_GE(fit.record.resume.blocks.size(), 4U);
  RunControl resume;
  resume.resume = &fit.record.resume;
  EXPECT_EQ(chain_values_of(chord(spread, options, resume)), chain_values_of(whole));
  EXPECT_EQ(chain_values_of(chord(*A, options, resume)), chain_values_of(whole));
}

/// An objective over all processes, one of which runs out of memory at the given evaluation.
class OutOfMemory final : public DeviceChordObjective {
 public:
  OutOfMemory(std::unique_ptr<DeviceChordObjective> objective, Index evaluations)
      : objective_(std::move(objective)), left_(evaluations) {}
  const std::shared_ptr<const MemorySpace>& space() const override { return objective_->space(); }
  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    if (left_-- == 0) throw NotAvailable("process 1 of 2: out of memory");
    return objective_->evaluate(J, values, gradient);
  }

 private:
  std::unique_ptr<DeviceChordObjective> objective_;
  Index left_;
};

TEST(ChordFit, TheRestOfAFitForWhichAProcessHasNoMemoryIsOnTheFirst) {
  const DenseOperator A(random_matrix(40, 40));
  const ChordOptions options{.adam_steps = 30, .columns_per_step = 8};
  const ChordObjectiveMaker maker =
      [](const ChordPattern& pattern, Index max_columns, const ChordTarget& target) {
        return std::make_unique<OutOfMemory>(over_processes()(pattern, max_columns, target), 20);
      };
  const Approximation found = chord_fit::fit_chord(A, options, elsewhere(), maker);
  const std::string& message = found.summary.message;
  EXPECT_NE(message.find("the rest of the fit runs on the first process: process 1 of 2: out of "),
            std::string::npos)
      << message;
  EXPECT_EQ(chain_values_of(found), chain_values_of(chord(A, options)));
}

// An exact fit with few rows is faster on one process, in floats.
TEST(ChordFit, ASmallExactFitStaysOnTheFirstProcess) {
  const auto A = std::make_shared<const SparseOperator>(matapprox::test::grid_laplacian(9));
  const ChordOptions options{.starts = 1, .adam_steps = 5, .max_iterations = 3};
  EXPECT_EQ(chain_values_of(chord(SpreadOperator(test::leader(), A), options)),
            chain_values_of(chord(*A, options)));
}

}  // namespace
}  // namespace matapprox::mpi
