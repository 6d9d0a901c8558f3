#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "mpi/operations.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

// All processes run these tests together (--together).
namespace matapprox::mpi {
namespace {

/// During its lifetime this process gets no memory, neither new from the system nor freed before.
class NoMemory {
 public:
  NoMemory() {
    constexpr std::size_t kLeast = std::size_t{1} << 16;
    getrlimit(RLIMIT_AS, &before_);
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    taken_.reserve(std::size_t{1} << 16);
    const rlimit now{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)), before_.rlim_max};
    setrlimit(RLIMIT_AS, &now);
    while (taken_.size() < taken_.capacity()) {
      void* piece = std::malloc(kLeast);  // NOLINT: must not throw
      if (piece == nullptr) break;
      taken_.push_back(piece);
    }
  }
  ~NoMemory() {
    for (void* piece : taken_) std::free(piece);  // NOLINT
    setrlimit(RLIMIT_AS, &before_);
  }
  NoMemory(const NoMemory&) = delete;
  NoMemory(NoMemory&&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
  NoMemory& operator=(NoMemory&&) = delete;

 private:
  rlimit before_{};
  std::vector<void*> taken_;
};

/// Blocks with `rows` rows on each process and the given numbers of columns, numbered from 1.
Store store_of_blocks(const Process& process, Index rows, std::initializer_list<Index> columns) {
  Store store;
  store.layouts.emplace(0, even_layout(rows * process.size(), process.size()));
  Index number = 0;
  for (const Index count : columns) {
    store.blocks[++number] = {
        0, MultiVector(host_space(), matapprox::test::random_matrix(rows, count))};
  }
  return store;
}

/// The last process has no memory for the operation: all processes report the same failure.
void expect_agreed_failure(const Process& process, Store& store, const Operation& operation) {
  const int last = process.size() - 1;
  std::string why;
  try {
    std::unique_ptr<NoMemory> none;
    if (process.rank() == last) none = std::make_unique<NoMemory>();
    perform(process, store, operation);
  } catch (const AgreedFailure& failure) {
    why = failure.what();
  }
  EXPECT_NE(why.find("out of memory"), std::string::npos) << why;
}

// Both operations pack more than a megabyte of their operands.
TEST(Together, AThinProductForWhichAProcessHasNoMemoryIsOneFailure) {
  const Process process(MPI_COMM_WORLD);
  constexpr Index kColumns = 400;
  Store store = store_of_blocks(process, 5000, {kColumns, kColumns});
  Matrix S = Matrix::Ones(kColumns, kColumns);
  const Part A{1, 0, kColumns};
  const Part B{2, 0, kColumns};
  expect_agreed_failure(process, store, AddProduct{1, A, S.data(), 0, B});
  expect_agreed_failure(process, store, TransposeProduct{A, B, S.data()});
  // Both operations succeed when memory is available again.
  perform(process, store, AddProduct{1, A, S.data(), 0, B});
  Matrix sums(kColumns, kColumns);
  perform(process, store, TransposeProduct{A, B, sums.data()});
  if (process.leads()) {
    EXPECT_TRUE(sums.allFinite());
    EXPECT_GT(sums.norm(), 0);
  }
}

}  // namespace
}  // namespace matapprox::mpi
