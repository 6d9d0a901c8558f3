#include "mpi/ranks_space.hpp"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/optimizers.hpp"
#include "mpi/processes.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::mpi {
namespace {

using Space = std::shared_ptr<const MemorySpace>;

TEST(Layout, RowsAndWorkAreDealt) {
  EXPECT_EQ(even_layout(7, 3).begins(), (std::vector<Index>{0, 3, 5, 7}));
  EXPECT_EQ(even_layout(1, 3).begins(), (std::vector<Index>{0, 1, 1, 1}));
  EXPECT_EQ(even_layout(0, 2).begins(), (std::vector<Index>{0, 0, 0}));
  EXPECT_EQ(weighted_layout({1, 1, 1, 1, 4}, 2).begins(), (std::vector<Index>{0, 4, 5}));
  EXPECT_EQ(weighted_layout({9, 1, 1}, 3).begins(), (std::vector<Index>{0, 1, 1, 3}));
  EXPECT_EQ(weighted_layout({}, 2).begins(), (std::vector<Index>{0, 0, 0}));
  const Layout layout({0, 3, 3, 5});
  EXPECT_EQ(layout.owner(0), 0);
  EXPECT_EQ(layout.owner(2), 0);
  EXPECT_EQ(layout.owner(3), 2);
  EXPECT_EQ(layout.owner(4), 2);
  EXPECT_REFUSED(InvalidArgument, Layout({0, 3, 2}), "ascend");
  EXPECT_REFUSED(NotAvailable, even_layout(Index{1} << 31, 4), "2147483648 rows are more than");
}

/// Rows distributed as evenly as possible, or all rows on one process.
class RanksSpaceOf : public testing::TestWithParam<bool> {
 protected:
  static Space space(Index rows) {
    return GetParam() ? test::space_of({test::all_on_the_last(rows)}) : test::space_of();
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, RanksSpaceOf, testing::Bool(), [](const auto& tested) {
  return tested.param ? "AllOnTheLast" : "Even";
});

TEST_P(RanksSpaceOf, GivesBackWhatWasWritten) {
  const Matrix X = matapprox::test::random_matrix(37, 5);
  MultiVector block(space(35), X.middleRows(1, 35));  // columns with gaps
  EXPECT_EQ(to_host(block.columns()), X.middleRows(1, 35));
  EXPECT_EQ(to_host(block.columns(2, 3)), X.block(1, 2, 35, 3));
  for (const Index first : {0, 11, 17, 34}) {
    for (const Index count : {0, 1, 9, 35 - static_cast<int>(first)}) {
      if (first + count > 35) continue;
      Matrix rows(count, 3);
      block.space()->read_rows(35, block.data() + 35, 3, first, count, rows.data());
      EXPECT_EQ(rows, X.block(1 + first, 1, count, 3)) << first << ", " << count;
      MultiVector written(block.space(), Matrix::Zero(35, 4));
      written.space()->write_rows(35, written.data() + 35, 3, first, count, rows.data());
      Matrix wanted = Matrix::Zero(35, 4);
      wanted.block(first, 1, count, 3) = rows;
      EXPECT_EQ(to_host(written.columns()), wanted) << first << ", " << count;
    }
  }
  copy(block.columns(0, 1), block.columns(4, 1));
  EXPECT_EQ(to_host(block.columns(4, 1)), X.block(1, 0, 35, 1));
  block.space()->zero(block.data() + 35, 35);
  EXPECT_EQ(to_host(block.columns(1, 1)), Matrix::Zero(35, 1));
  block.space()->scale(block.data() + 70, 70, -0.25);
  EXPECT_EQ(to_host(block.columns(2, 2)), -0.25 * X.block(1, 2, 35, 2));
}

/// A file that starts with the given bytes, like a temporary file of a writer.
class OutputFile {
 public:
  explicit OutputFile(const std::string& before)
      : path_(testing::TempDir() + "matapprox_block_" + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << before;
  }
  ~OutputFile() { std::filesystem::remove(path_); }
  OutputFile(const OutputFile&) = delete;
  OutputFile(OutputFile&&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;

  const std::string& path() const { return path_; }
  std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

std::string numbers_as_bytes(const Matrix& A) {
  return {reinterpret_cast<const char*>(A.data()),
          static_cast<std::size_t>(A.size()) * sizeof(double)};
}

std::uint32_t checksum(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

const BlockWriter& writer(const MultiVector& block) {
  return dynamic_cast<const BlockWriter&>(*block.space());
}

// Fewer rows than processes, and more numbers than are written at a time; some columns of a block.
TEST_P(RanksSpaceOf, BlocksAreWrittenToAFileByTheirProcesses) {
  for (const Index n : {1, 3, 37, 150001}) {
    const Matrix X = matapprox::test::random_matrix(n, 5);
    const MultiVector block(space(n), X);
    for (const Index columns : {1, 4}) {
      for (const auto order : {FilePlace::Order::kRows, FilePlace::Order::kColumns}) {
        const OutputFile file("before");
        const Matrix part = X.middleCols(1, columns);
        const auto sum = writer(block).write_to_file(
            n, block.data() + n, columns, {file.path(), 13, order, "name"});
        const std::string wanted =
            numbers_as_bytes(order == FilePlace::Order::kRows ? Matrix(part.transpose()) : part);
        EXPECT_EQ(sum, checksum(wanted)) << n << ", " << columns;
        EXPECT_TRUE(file.bytes() == "before" + std::string(7, '\0') + wanted)
            << n << ", " << columns;
      }
    }
  }
}

TEST(RanksSpace, ValuesOfAChainAreWrittenFactorByFactor) {
  const Layout layout(even_layout(5, test::processes()).begins(), {3, 1, 2});
  const Matrix values = matapprox::test::random_matrix(layout.rows(), 1);
  const MultiVector block(test::space_of({layout}), values);
  const OutputFile file("");
  const auto sum = writer(block).write_to_file(
      block.rows(), block.data(), 1, {file.path(), 0, FilePlace::Order::kRows, "name"});
  EXPECT_EQ(sum, checksum(numbers_as_bytes(values)));
  EXPECT_TRUE(file.bytes() == numbers_as_bytes(values));
}

// A disk that other processes do not see is handled by the caller; NaN on one process fails on all.
TEST(RanksSpace, AFileThatCannotBeWrittenIsOneFailure) {
  Matrix X = matapprox::test::random_matrix(20, 2);
  const MultiVector good(test::space_of(), X);
  const FilePlace nowhere{"/nonexistent/file", 0, FilePlace::Order::kRows, "name"};
  EXPECT_EQ(writer(good).write_to_file(20, good.data(), 2, nowhere), std::nullopt);
  X(19, 1) = std::numeric_limits<double>::infinity();
  const MultiVector bad(test::space_of(), X);
  const OutputFile file("");
  EXPECT_REFUSED(NumericalError,
                 writer(bad).write_to_file(
                     20, bad.data(), 2, {file.path(), 0, FilePlace::Order::kRows, "out.h5"}),
                 "out.h5: a factor holds NaN or Inf");
  // The state of a method may contain NaN and Inf, a factor may not.
  FilePlace place{file.path(), 0, FilePlace::Order::kColumns, "out.h5"};
  place.finite = false;
  EXPECT_EQ(writer(bad).write_to_file(20, bad.data(), 2, place), checksum(numbers_as_bytes(X)));
}

// More rows than one block of the host's sums, fewer rows than processes, and no rows.
TEST_P(RanksSpaceOf, ProductsAreThoseOfTheHost) {
  for (const Index n : {0, 1, 3, 37, 1000, 70001}) {
    const Matrix A = matapprox::test::random_matrix(n, 3);
    const Matrix B = matapprox::test::random_matrix(n, 4, 2);
    const Matrix S = matapprox::test::random_matrix(3, 4, 3);
    const MultiVector a(space(n), A);
    MultiVector b(a.space(), B);
    const MultiVector host_a(host_space(), A);
    MultiVector host_b(host_space(), B);
    const Matrix sums = transpose_product(a.columns(), b.columns());
    const Matrix host_sums = transpose_product(host_a.columns(), host_b.columns());
    const Vector norms = column_norms(a.columns());
    const Vector host_norms = column_norms(host_a.columns());
    // Each row is computed on one process, as on the host.
    EXPECT_SAME_BITS(product_to_host(a.columns(), S), product_to_host(host_a.columns(), S));
    add_product(-2.0, a.columns(), S, 0.5, b.columns());
    add_product(-2.0, host_a.columns(), S, 0.5, host_b.columns());
    EXPECT_SAME_BITS(to_host(b.columns()), to_host(host_b.columns()));
    if (test::processes() == 1) {
      EXPECT_SAME_BITS(sums, host_sums);
      EXPECT_SAME_BITS(norms, host_norms);
    } else {
      EXPECT_TRUE(matapprox::test::within(sums, host_sums, 1e-15 * static_cast<double>(n)));
      EXPECT_TRUE(matapprox::test::within(norms, host_norms, 1e-14 * host_norms.norm()));
    }
  }
}

TEST_P(RanksSpaceOf, TwoEqualSumsHaveTheSameBits) {
  const Space at = space(5000);
  const MultiVector A(at, matapprox::test::random_matrix(5000, 6));
  const Matrix first = transpose_product(A.columns(), A.columns());
  for (int again = 0; again < 20; ++again)
    EXPECT_SAME_BITS(transpose_product(A.columns(), A.columns()), first);
}

TEST_P(RanksSpaceOf, RandomNumbersAreThoseOfTheirPlaces) {
  for (const Index first : {Index{0}, Index{3}, Index{1} << 40}) {
    Matrix wanted(1001, 5);
    fill_normal(7, RandomStream::kCoSketch, wanted, 0, first);
    const MultiVector block =
        random_normal_block(space(1001), 7, RandomStream::kCoSketch, 1001, 5, first);
    EXPECT_EQ(to_host(block.columns()), wanted);
  }
}

TEST_P(RanksSpaceOf, TheLargestEntryAndWhatIsNotFinite) {
  const Matrix X = matapprox::test::random_matrix(2000, 2);
  const auto largest = [&](double number, Index row) {
    Matrix Y = X;
    Y(row, 1) = number;
    const MultiVector block(space(2000), Y);
    return block.space()->largest(block.data(), block.size());
  };
  EXPECT_EQ(largest(-7.5, 1999), 7.5);
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    for (const Index row : {0, 999, 1999}) EXPECT_FALSE(std::isfinite(largest(bad, row))) << row;
  }
}

TEST_P(RanksSpaceOf, AdamTakesTheStepOfTheHost) {
  const kernels::AdamStep step{0.9, 0.99, 0.1, 1.5, 1e-3};
  const Index n = 1001;
  std::vector<Matrix> after;
  for (const Space& at : {space(n), host_space()}) {
    const MultiVector gradient(at, matapprox::test::random_matrix(n, 1));
    MultiVector mean(at, matapprox::test::random_matrix(n, 1, 2));
    MultiVector square(at, matapprox::test::random_matrix(n, 1, 3).cwiseAbs());
    MultiVector point(at, matapprox::test::random_matrix(n, 1, 4));
    chord_fit::take_adam_step(
        *at, step, gradient.data(), n, mean.data(), square.data(), point.data());
    for (const MultiVector* x : {&mean, &square, &point}) after.push_back(to_host(x->columns()));
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_SAME_BITS(after[k], after[k + 3]);
}

TEST(RanksSpace, BlocksWithoutColumnsHaveNoNumbers) {
  const Space at = test::space_of();
  const MultiVector none(at, 30, 0);
  MultiVector some(at, Matrix::Ones(30, 2));
  EXPECT_EQ(transpose_product(none.columns(), some.columns()).rows(), 0);
  add_product(1.0, none.columns(), Matrix(0, 2), 0.5, some.columns());
  EXPECT_EQ(to_host(some.columns()), Matrix::Constant(30, 2, 0.5));
}

TEST(RanksSpace, PartsOfColumnsAreRefused) {
  MultiVector block(test::space_of(), Matrix::Ones(30, 2));
  EXPECT_REFUSED(InvalidArgument, (block.space()->zero(block.data() + 1, 30), 0), "not columns");
  EXPECT_REFUSED(InvalidArgument, (block.space()->zero(block.data(), 90), 0), "not columns");
}

// One process has too little memory: the others continue, and their memory is released.
TEST(RanksSpace, AProcessWithoutMemoryIsOneFailure) {
  const int last = test::processes() - 1;
  std::vector<Index> begins{0};
  for (Index p = 0; p < last; ++p) begins.push_back(begins.back() + 10);
  begins.push_back(begins.back() + (Index{1} << 30));
  const Space at = test::space_of({Layout(begins)});
  const std::string who =
      last == 0 ? "" : "process " + std::to_string(last) + " of " + std::to_string(last + 1) + ": ";
  // 32 TiB of address space can be reserved, but not as much memory.
  EXPECT_REFUSED(NotAvailable, MultiVector(at, begins.back(), 4096), who + "out of memory");
  const MultiVector small(at, Matrix::Ones(50, 2));
  EXPECT_EQ(to_host(small.columns()), Matrix::Ones(50, 2));
}

TEST(RanksSpace, ThreadsOfTheLeaderWaitForEachOther) {
  const Space at = test::space_of();
  const MultiVector A(at, Matrix::Ones(64, 3));
  std::vector<std::thread> threads;
  std::vector<Matrix> sums(4);
  for (Matrix& sum : sums) {
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) sum = transpose_product(A.columns(), A.columns());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Matrix& sum : sums) EXPECT_EQ(sum, Matrix::Constant(3, 3, 64.0));
}

// The leader stops between two operations, never during one in which other processes wait.
TEST(RanksSpace, AStopThatIsAskedForComesBetweenOperations) {
  const Space at = test::space_of();
  MultiVector block(at, Matrix::Ones(50, 2));
  std::atomic<bool> stop = true;
  RunControl control;
  control.stop = &stop;
  {
    const StopScope scope(control, "test");
    EXPECT_REFUSED(Interrupted, transpose_product(block.columns(), block.columns()), "test");
    const MultiVector moved = std::move(block);  // releases its numbers nevertheless
  }
  const MultiVector again(at, Matrix::Ones(50, 2));
  EXPECT_EQ(to_host(again.columns()), Matrix::Ones(50, 2));
}

}  // namespace
}  // namespace matapprox::mpi
