#include "command_line/sandbox.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::app {
namespace {

const SandboxLimits kShort{0.3, 0, 0.3};

void sandboxed(const std::string& path,
               const std::string& library,
               const std::function<void()>& read,
               const SandboxLimits& limits = {}) {
  sandboxed_read({path, library, read}, limits);
}

TEST(SandboxedRead, ReturnsAndLeavesNoTrace) {
  int calls = 0;
  sandboxed("x.mat", "MATLAB", [&] { ++calls; });
  EXPECT_EQ(calls, 0);  // the calls happened in the child
}

TEST(SandboxedRead, NamesTheSignalOfACrash) {
  EXPECT_REFUSED(FileError,
                 sandboxed("x.mat", "MATLAB", [] { std::raise(SIGKILL); }),
                 "x.mat: the MATLAB library crashed on this file (signal 9)");
  EXPECT_REFUSED(FileError,
                 sandboxed("x.mat", "MATLAB", [] { std::abort(); }),
                 "x.mat: the MATLAB library crashed on this file");
}

TEST(SandboxedRead, CatchesALibraryThatLeavesTheProgram) {
  EXPECT_REFUSED(FileError, sandboxed("x.mat", "MATLAB", [] { _exit(0); }), "(exit code 0)");
  EXPECT_REFUSED(FileError, sandboxed("x.mat", "MATLAB", [] { _exit(7); }), "(exit code 7)");
}

TEST(SandboxedRead, EndsAHang) {
  EXPECT_REFUSED(FileError,
                 sandboxed(
                     "x.png", "PNG", [] { pause(); }, kShort),
                 "x.png: the PNG library did not finish");
  EXPECT_REFUSED(FileError,
                 sandboxed(
                     "x.png",
                     "PNG",
                     [] {
                       volatile bool forever = true;
                       while (forever) {
                       }
                     },
                     kShort),
                 "did not finish");
}

TEST(SandboxedRead, AChildThatGetsLittleOfTheCpuIsNoHang) {
  // 1 s of wall-clock time under a limit of 0.5 s of CPU time; the child uses about 0.1 s of it.
  const auto slow = [] {
    for (int turn = 0; turn < 10; ++turn) {
      usleep(100000);
      const std::clock_t start = std::clock();
      while (std::clock() - start < CLOCKS_PER_SEC / 100) {
      }
    }
  };
  EXPECT_NO_THROW(sandboxed("x.h5", "HDF5", slow, {0.5, 0, 30}));
}

/// Set by a handler that runs if a process ends by exit().
std::atomic<int>* ends_by_exit = nullptr;

TEST(SandboxedRead, HandlersOfTheEndDoNotRunInTheChild) {
  void* const shared = mmap(
      nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  ends_by_exit = new (shared) std::atomic<int>(0);
  sandboxed("x.h5", "HDF5", [] { std::atexit([] { *ends_by_exit = 1; }); });
  EXPECT_EQ(ends_by_exit->load(), 0);
  munmap(shared, sizeof(std::atomic<int>));
}

/// Hides /proc from this process alone; false if the system does not allow it.
bool hide_proc() {
  const int spaces = getuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER;
  return unshare(spaces) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", "/proc", "tmpfs", 0, nullptr) == 0;
}

TEST(SandboxedRead, WorksWithoutProc) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (!hide_proc()) _exit(77);
    try {
      sandboxed("x.h5", "HDF5", [] { std::vector<double>(1 << 20, 1.0); });
    } catch (const std::exception&) {
      _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "/proc cannot be hidden here";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(SandboxedRead, BoundsMemory) {
  if (test::kSanitized) GTEST_SKIP() << "no memory limit under the address sanitizer";
  const SandboxLimits limits{10, Index{64} << 20};
  EXPECT_REFUSED(
      FileError,
      sandboxed(
          "x.mat", "MATLAB", [] { std::vector<char> block(std::size_t{1} << 30); }, limits),
      "needs more memory than is available");
}

TEST(SandboxedRead, HandsOnExceptionsWithTheirType) {
  const auto throwing = [](auto error) {
    return [error] { sandboxed("x.h5", "HDF5", [&] { throw error; }); };
  };
  EXPECT_REFUSED(FileError, throwing(FileError("x.h5: cut"))(), "x.h5: cut");
  EXPECT_REFUSED(InvalidArgument, throwing(InvalidArgument("rank"))(), "rank");
  EXPECT_REFUSED(NumericalError, throwing(NumericalError("NaN"))(), "NaN");
  EXPECT_REFUSED(NotAvailable, throwing(NotAvailable("5 GB"))(), "5 GB");
  EXPECT_REFUSED(FileError, throwing(std::runtime_error("odd"))(), "odd");
  EXPECT_REFUSED(
      FileError, throwing(FileError(std::string(100000, 'x')))(), std::string(100000, 'x'));
}

TEST(SandboxedRead, AChildWithoutMemoryForItsMessageEndsAllTheSame) {
  // An exception outside the standard library's hierarchy, like any that passes the catch clauses
  // for those: the child must not continue as the caller.
  const pid_t parent = getpid();
  bool went_on = false;
  try {
    sandboxed("x.h5", "HDF5", [] { throw 7; }, {20, 0});
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("more memory"), std::string::npos);
  } catch (...) {
    went_on = true;
  }
  if (getpid() != parent) _exit(0);
  EXPECT_FALSE(went_on);
}

TEST(SandboxedRead, MayForkWhileAnotherThreadUsesHdf5) {
  std::atomic<bool> done{false};
  std::atomic<int> uses{0};
  std::thread busy([&] {
    while (!done) {
      const hdf5::ErrorSilencer silencer;
      const hdf5::Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
      ++uses;
    }
  });
  // A child that inherits a locked lock would hang, and be reported as hanging after 20 seconds.
  int refused = 0;
  for (int k = 0; k < 50; ++k) {
    try {
      sandboxed("x.h5",
                "HDF5",
                [] {
                  const hdf5::ErrorSilencer silencer;
                  const hdf5::Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
                  if (!list) throw FileError("x.h5: no list");
                },
                {20, 0});
    } catch (const Error&) {
      ++refused;
    }
  }
  done = true;
  busy.join();
  EXPECT_EQ(refused, 0);
  EXPECT_GT(uses, 0);
}

/// Allocates and frees blocks of many sizes, as reading a file does.
void allocate_many() {
  std::vector<std::string> blocks;
  for (std::size_t k = 0; k < 200; ++k) blocks.emplace_back(1 + 97 * k, 'x');
}

TEST(SandboxedRead, MayForkWhileOtherThreadsAllocate) {
  std::atomic<bool> done{false};
  const auto work = [&] {
    while (!done) allocate_many();
  };
  std::thread first(work);
  std::thread second(work);
  int refused = 0;
  for (int k = 0; k < test::trials(200); ++k) {
    try {
      sandboxed("x.h5", "HDF5", allocate_many, {5, 0});
    } catch (const Error&) {
      ++refused;
    }
  }
  done = true;
  first.join();
  second.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace matapprox::app
