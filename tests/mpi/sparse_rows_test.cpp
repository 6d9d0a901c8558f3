#include "mpi/sparse_rows.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <vector>

// All processes run these tests together (--together).
namespace matapprox::mpi {
namespace {

/// Bytes of this process's memory that RLIMIT_DATA counts.
rlim_t data_bytes() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  for (int field = 0; field < 6; ++field) file >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

/// During its lifetime this process gets only about `more` additional bytes, whatever it freed
/// before.
class LittleMemory {
 public:
  explicit LittleMemory(std::size_t more) {
    constexpr std::size_t kLeast = 1 << 16;
    constexpr std::size_t kMaxPieces = 10000;
    getrlimit(RLIMIT_DATA, &before_);
    held_.reserve(kMaxPieces);
    allow(0);
    for (std::size_t bytes = more; bytes >= kLeast; bytes /= 2) {
      while (void* piece = std::malloc(bytes)) held_.push_back(piece);
    }
    allow(more);
  }
  ~LittleMemory() {
    setrlimit(RLIMIT_DATA, &before_);
    for (void* piece : held_) std::free(piece);
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory(LittleMemory&&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;
  LittleMemory& operator=(LittleMemory&&) = delete;

 private:
  void allow(std::size_t more) const {
    const rlimit little{data_bytes() + more, before_.rlim_max};
    setrlimit(RLIMIT_DATA, &little);
  }

  rlimit before_{};
  std::vector<void*> held_;
};

// Memory suffices for a second copy of the block, which the product needs, but not for a third.
TEST(Together, AProductForWhichAProcessHasNoMemoryIsOneFailure) {
  constexpr Index kRows = 400000;
  constexpr Index kColumns = 16;
  constexpr auto kBytes = static_cast<std::size_t>(kRows * kColumns * 8);
  const Process process(MPI_COMM_WORLD);
  std::vector<Index> begins;  // one row on each process, the others on the last
  for (Index p = 0; p < process.size(); ++p) begins.push_back(p);
  begins.push_back(kRows);
  const Layout layout(begins);
  const Index own = layout.count(process.rank());
  SparseMatrix rows(own, kRows);
  for (Index i = 0; i < own; ++i) rows.insert(i, layout.first(process.rank()) + i) = 2;
  rows.makeCompressed();
  const OwnRows A(process, layout, std::move(rows));
  const MultiVector X(host_space(), Matrix::Ones(own, kColumns));
  MultiVector Y(host_space(), own, kColumns);
  {
    std::optional<LittleMemory> little;
    if (process.rank() == process.size() - 1) little.emplace(kBytes + kBytes / 2);
    EXPECT_THROW(A.multiply(process, X.columns(), Y.columns()), AgreedFailure);
  }
  A.multiply(process, X.columns(), Y.columns());
  EXPECT_EQ(to_host(Y.columns()), Matrix::Constant(own, kColumns, 2));
}

}  // namespace
}  // namespace matapprox::mpi
