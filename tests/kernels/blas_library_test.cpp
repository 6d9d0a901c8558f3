#include "kernels/blas_library.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <list>
#include <thread>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::kernels {
namespace {

/// Shortest time of seven products of order 400.
double seconds_of_blas_product() {
  const Matrix A = test::random_block<Matrix>(400, 400, 1);
  Matrix C;
  double best = std::numeric_limits<double>::infinity();
  for (int r = 0; r < 7; ++r) {
    const auto start = std::chrono::steady_clock::now();
    blas_gemm(A, A, C);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count());
  }
  return best;
}

TEST(BlasLibrary, NamesLibraryAndCore) {
  const BlasInfo info = blas_info();
  EXPECT_FALSE(info.library.empty());
  if (blas_is_open_blas()) {
    EXPECT_EQ(info.library.rfind("OpenBLAS ", 0), 0U) << info.library;
    EXPECT_FALSE(info.core.empty());
  }
}

TEST(BlasLibrary, LeavesACoreAloneThatIsNotOld) {
  EXPECT_EQ(better_blas_core("SkylakeX"), "");
  EXPECT_EQ(better_blas_core("Haswell"), "");
  EXPECT_EQ(better_blas_core("Zen"), "");
  EXPECT_EQ(better_blas_core("a core of the future"), "");
  EXPECT_EQ(better_blas_core(""), "");
}

TEST(BlasLibrary, GuardKeepsOneThreadAndTheLastGivesTheNumberBack) {
  if (!blas_is_open_blas()) GTEST_SKIP() << "this BLAS does not tell its number of threads";
  const int before = blas_threads();
  set_blas_threads(2);
  {
    const SingleBlasThread outer;
    EXPECT_EQ(blas_threads(), 1);
    std::thread([] { const SingleBlasThread inner; }).join();
    EXPECT_EQ(blas_threads(), 1);
  }
  EXPECT_EQ(blas_threads(), 2);
  set_blas_threads(before);
}

/// Checks a process that was started with OPENBLAS_CORETYPE=Prescott, then exits with 0 if all
/// checks pass.
[[noreturn]] void mend_prescott() {
  EXPECT_EQ(blas_core(), "Prescott");
  configure_blas();
  EXPECT_EQ(blas_core(), "Prescott") << "the user's OPENBLAS_CORETYPE was not respected";
  EXPECT_FALSE(blas_info().core_was_repaired);
  const double slow = seconds_of_blas_product();

  EXPECT_TRUE(repair_blas_core());
  EXPECT_NE(blas_core(), "Prescott");
  EXPECT_TRUE(blas_info().core_was_repaired);
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Prescott") << "the environment was changed";
  EXPECT_GT(slow / seconds_of_blas_product(), 1.5);

  const Matrix A = test::random_block<Matrix>(333, 222, 2);
  const Matrix B = test::random_block<Matrix>(222, 111, 3);
  Matrix C;
  blas_gemm(A, B, C);
  EXPECT_LE((C - product(A, B)).norm(), 1e-12 * A.norm() * B.norm());
  const Svd result = svd(A);
  EXPECT_LE((product(result.U * result.S.asDiagonal(), result.V.transpose()) - A).norm(),
            1e-13 * static_cast<double>(A.rows()) * A.norm());
  std::exit(::testing::Test::HasFailure() ? 1 : 0);
}

/// Prevents new large blocks of address space during its lifetime.
class NoAddressSpace {
 public:
  NoAddressSpace() {
    getrlimit(RLIMIT_AS, &before_);
    const rlimit limit{rlim_t{1} << 20, before_.rlim_max};
    setrlimit(RLIMIT_AS, &limit);
  }
  ~NoAddressSpace() { setrlimit(RLIMIT_AS, &before_); }
  NoAddressSpace(const NoAddressSpace&) = delete;
  NoAddressSpace& operator=(const NoAddressSpace&) = delete;

 private:
  rlimit before_{};
};

TEST(BlasLibrary, RefusesCallersThatItHasNoBufferFor) {
  if (!blas_is_open_blas()) GTEST_SKIP() << "no OpenBLAS";
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer takes all address space";
  require_blas_buffer();
  std::list<SingleBlasThread> callers;
  const auto call_many = [&] {
    const NoAddressSpace limit;
    for (int k = 0; k < 100; ++k) callers.emplace_back();
  };
  EXPECT_REFUSED(NotAvailable, call_many(), "128 MiB of address space");
  const std::size_t had_buffers = callers.size();
  EXPECT_LT(had_buffers, 100U);
  callers.emplace_back();  // the limit is removed
  EXPECT_EQ(callers.size(), had_buffers + 1);
}

TEST(BlasLibraryDeathTest, MendsAnOldCore) {
  if (!blas_is_open_blas() || better_blas_core("Prescott").empty()) {
    GTEST_SKIP() << "no OpenBLAS, or no AVX2 in this CPU";
  }
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";  // a new process, not a fork
  ASSERT_EQ(setenv("OPENBLAS_CORETYPE", "Prescott", 1), 0);
  EXPECT_EXIT(mend_prescott(), ::testing::ExitedWithCode(0), "");
  unsetenv("OPENBLAS_CORETYPE");
}

}  // namespace
}  // namespace matapprox::kernels
