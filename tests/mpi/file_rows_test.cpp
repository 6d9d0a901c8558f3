#include "mpi/file_rows.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "mpi/processes.hpp"
#include "mpi/spread_operator.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::mpi {
namespace {

int rank_of_all() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Rows read on this process, by call.
std::vector<std::vector<Index>>& rows_read() {
  static std::vector<std::vector<Index>> rows;
  return rows;
}

/// A 40 x 30 matrix of ones whose rows cannot be read on one process.
class UnreadableOn final : public LinearOperator {
 public:
  explicit UnreadableOn(int rank) : rank_(rank) {}
  Index rows() const override { return 40; }
  Index cols() const override { return 30; }
  Cost cost() const override { return {}; }
  std::string description() const override { return "test"; }

 private:
  void do_apply(const ConstBlock& /*X*/, Block Y) const override { Y.setZero(); }
  void do_apply_transpose(const ConstBlock& /*X*/, Block Y) const override { Y.setZero(); }
  void do_rows_at(std::span<const Index> I, Block Y) const override {
    rows_read().emplace_back(I.begin(), I.end());
    if (rank_of_all() == rank_) throw FileError("x.h5: the disk is gone");
    Y.setOnes();
  }
  int rank_;
};

}  // namespace

namespace test {

// Opens dataset A of the file "PATH"; "unreadable R" gives a matrix that is unreadable on process
// R.
std::shared_ptr<const LinearOperator> open_file(const std::string& name) {
  const std::string unreadable = "unreadable ";
  if (!name.starts_with(unreadable)) return std::make_shared<const Hdf5Operator>(name, "A");
  return std::make_shared<const UnreadableOn>(std::stoi(name.substr(unreadable.size())));
}

}  // namespace test

namespace {

/// A file with a matrix of normal entries, removed at the end.
class TestFile {
 public:
  TestFile(Index rows, Index cols)
      : path_((std::filesystem::temp_directory_path() /
               ("matapprox_mpi_" + std::to_string(getpid()) + ".h5"))
                  .string()),
        values_(matapprox::test::random_matrix(rows, cols)) {
    write_hdf5_matrix(path_, "A", values_);
  }
  ~TestFile() { std::filesystem::remove(path_); }
  TestFile(const TestFile&) = delete;
  TestFile(TestFile&&) = delete;
  TestFile& operator=(const TestFile&) = delete;
  TestFile& operator=(TestFile&&) = delete;

  const std::string& path() const { return path_; }
  const Matrix& values() const { return values_; }
  std::shared_ptr<const LinearOperator> opened() const {
    return std::make_shared<const Hdf5Operator>(path_, "A");
  }

 private:
  std::string path_;
  Matrix values_;
};

// Rows in memory and in the file, by panels of a few rows; fewer rows than processes.
TEST(FileRows, ProductsAreThoseOfTheWholeMatrix) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{130, 70}, {70, 130}, {2, 5}}) {
    const TestFile file(rows, cols);
    const Matrix X = matapprox::test::random_matrix(cols, 6);
    const Matrix Y = matapprox::test::random_matrix(rows, 6, 2);
    for (const bool in_file : {false, true}) {
      for (const Index bytes : {Index{1}, 20 * 8 * cols}) {  // one row, twenty rows
        const SpreadOperator spread(test::leader(),
                                    file.opened(),
                                    {.name = file.path(), .unit_rows = 3},
                                    {.bytes = bytes, .in_file = in_file});
        EXPECT_CLOSE(spread.apply(X), file.values() * X, 1e-14);
        EXPECT_CLOSE(spread.apply_transpose(Y), file.values().transpose() * Y, 1e-14);
        EXPECT_SAME_BITS(spread.apply_transpose(Y), spread.apply_transpose(Y));
        EXPECT_EQ(spread.columns_at(std::vector<Index>{1}), file.values().col(1));
      }
    }
  }
}

TEST(FileRows, MethodsFindTheSame) {
  const TestFile file(120, 80);
  const SpreadOperator spread(test::leader(), file.opened(), {.name = file.path()});
  const auto values_of = [](const LinearOperator& matrix) {
    const auto svd = truncated_svd(matrix, {.rank = 5, .algorithm = SvdAlgorithm::kKrylov});
    return Matrix(std::get<Vector>(*svd.factors()[1].value));
  };
  EXPECT_CLOSE(values_of(spread), values_of(*file.opened()), 1e-12);
}

// One failure, which names the process; the others continue.
TEST(FileRows, WhatOneProcessCannotReadIsOneFailure) {
  const int last = test::processes() - 1;
  const SharedMatrix name{.name = "unreadable " + std::to_string(last)};
  const std::string who =
      last == 0 ? "" : "process " + std::to_string(last) + " of " + std::to_string(last + 1) + ": ";
  const auto source = test::open_file("unreadable -1");
  EXPECT_REFUSED(
      FileError, SpreadOperator(test::leader(), source, name), who + "x.h5: the disk is gone");
  const SpreadOperator unreadable(test::leader(), source, name, {.in_file = true});
  const Matrix X = Matrix::Ones(30, 2);
  EXPECT_REFUSED(FileError, unreadable.apply(X), who + "x.h5: the disk is gone");
  EXPECT_REFUSED(FileError, unreadable.apply_transpose(Matrix::Ones(40, 2)), who + "x.h5");
  const SharedMatrix missing{.name = "/no/such/file.h5"};
  EXPECT_REFUSED(FileError, SpreadOperator(test::leader(), source, missing), "/no/such/file.h5");
  const SpreadOperator readable(test::leader(), source, {.name = "unreadable -1"});
  EXPECT_EQ(readable.apply(X), Matrix::Constant(40, 2, 30.0));
}

// Panels are whole storage units of the file, unless units are much larger than a panel.
TEST(FileRows, PanelsAreWholeUnits) {
  const Index row_bytes = 30 * 8;
  const auto source = test::open_file("unreadable -1");
  const Index own = even_layout(40, test::processes()).count(0);
  const auto ends = [&](Index unit_rows, Index panel_rows, bool in_file) {
    rows_read().clear();
    const SpreadOperator spread(test::leader(),
                                source,
                                {.name = "unreadable -1", .unit_rows = unit_rows},
                                {.bytes = panel_rows * row_bytes, .in_file = in_file});
    if (in_file) static_cast<void>(spread.apply(Matrix::Ones(30, 1)));
    std::vector<Index> result;
    Index next = 0;
    for (const std::vector<Index>& rows : rows_read()) {
      EXPECT_EQ(rows, index_range(next, std::ssize(rows)));
      next += std::ssize(rows);
      result.push_back(next);
    }
    return result;
  };
  const auto multiples = [&](Index step) {
    std::vector<Index> result;
    for (Index end = step; end < own; end += step) result.push_back(end);
    result.push_back(own);
    return result;
  };
  for (const bool in_file : {false, true}) {
    EXPECT_EQ(ends(1, 6, in_file), multiples(6));
    EXPECT_EQ(ends(4, 6, in_file), multiples(4));
    EXPECT_EQ(ends(4, 9, in_file), multiples(8));
    EXPECT_EQ(ends(8, 2, in_file), multiples(8));
    EXPECT_EQ(ends(9, 2, in_file), multiples(2));
    EXPECT_EQ(ends(1, 100, in_file), multiples(100));
  }
}

// The file has changed since the first process opened it.
TEST(FileRows, AnotherShapeIsRefused) {
  const TestFile file(40, 31);
  const SharedMatrix name{.name = file.path()};
  EXPECT_REFUSED(FileError,
                 SpreadOperator(test::leader(), test::open_file("unreadable -1"), name),
                 "40 x 31 here, 40 x 30 on the first process");
}

TEST(FileRows, LargeDatasetsStayInTheirFile) {
  const TestFile file(40, 31);
  const auto stays = [&] {
    const auto matrix = load(file.path()).matrix;
    return std::dynamic_pointer_cast<const Hdf5Operator>(matrix) != nullptr;
  };
  EXPECT_FALSE(stays());
  leave_datasets_in_files(8 * 40 * 31);
  EXPECT_FALSE(stays());
  leave_datasets_in_files(8 * 40 * 31 - 1);
  EXPECT_TRUE(stays());
  leave_datasets_in_files(std::numeric_limits<Index>::max());
}

TEST(FileRows, OneProcessLeavesFilesAlone) {
  const TestFile file(40, 31);
  const auto find = [&](const LinearOperator&) { return SharedMatrix{.name = file.path()}; };
  EXPECT_EQ(spread(test::leader(), file.opened(), find) == nullptr, test::processes() == 1);
  const auto none = [](const LinearOperator&) { return SharedMatrix{}; };
  EXPECT_EQ(spread(test::leader(), file.opened(), none), nullptr);
}

}  // namespace
}  // namespace matapprox::mpi
