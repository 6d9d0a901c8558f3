#include "io/isolated.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <thread>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/error.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

const RehearsalLimits kShort{0.3, 0};

TEST(Rehearse, ReturnsAndLeavesNoTrace) {
  int calls = 0;
  rehearse("x.mat", "MATLAB", [&] { ++calls; });
  EXPECT_EQ(calls, 0);  // they happened in the child
}

TEST(Rehearse, NamesTheSignalOfACrash) {
  EXPECT_REFUSED(FileError,
                 rehearse("x.mat", "MATLAB", [] { std::raise(SIGKILL); }),
                 "x.mat: the MATLAB library crashed on this file (signal 9)");
  EXPECT_REFUSED(FileError,
                 rehearse("x.mat", "MATLAB", [] { std::abort(); }),
                 "x.mat: the MATLAB library crashed on this file");
}

TEST(Rehearse, CatchesALibraryThatLeavesTheProgram) {
  EXPECT_REFUSED(FileError, rehearse("x.mat", "MATLAB", [] { _exit(0); }), "(exit code 0)");
  EXPECT_REFUSED(FileError, rehearse("x.mat", "MATLAB", [] { _exit(7); }), "(exit code 7)");
}

TEST(Rehearse, EndsAHang) {
  EXPECT_REFUSED(FileError,
                 rehearse(
                     "x.png", "PNG", [] { pause(); }, kShort),
                 "x.png: the PNG library did not finish");
  EXPECT_REFUSED(FileError,
                 rehearse(
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

TEST(Rehearse, BoundsMemory) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "no memory limit under the address sanitizer";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "no memory limit under the address sanitizer";
#endif
#endif
  const RehearsalLimits limits{10, Index{64} << 20};
  EXPECT_REFUSED(
      FileError,
      rehearse(
          "x.mat", "MATLAB", [] { std::vector<char> block(std::size_t{1} << 30); }, limits),
      "wants more memory than there is");
}

TEST(Rehearse, HandsOnExceptionsWithTheirType) {
  const auto throwing = [](auto error) {
    return [error] { rehearse("x.h5", "HDF5", [&] { throw error; }); };
  };
  EXPECT_REFUSED(FileError, throwing(FileError("x.h5: cut"))(), "x.h5: cut");
  EXPECT_REFUSED(InvalidArgument, throwing(InvalidArgument("rank"))(), "rank");
  EXPECT_REFUSED(NumericalError, throwing(NumericalError("NaN"))(), "NaN");
  EXPECT_REFUSED(NotAvailable, throwing(NotAvailable("5 GB"))(), "5 GB");
  EXPECT_REFUSED(FileError, throwing(std::runtime_error("odd"))(), "odd");
  EXPECT_REFUSED(
      FileError, throwing(FileError(std::string(100000, 'x')))(), std::string(100000, 'x'));
}

TEST(Rehearse, AChildWithoutMemoryForItsMessageEndsAllTheSame) {
  // An exception that is none of the standard library's, as anything that gets past the catches for
  // those: the child must not go on in the caller's place.
  const pid_t parent = getpid();
  bool went_on = false;
  try {
    rehearse("x.h5", "HDF5", [] { throw 7; }, {20, 0});
  } catch (const FileError& error) {
    EXPECT_NE(std::string(error.what()).find("more memory"), std::string::npos);
  } catch (...) {
    went_on = true;
  }
  if (getpid() != parent) _exit(0);
  EXPECT_FALSE(went_on);
}

TEST(Rehearse, NestsWithoutForking) {
  EXPECT_REFUSED(FileError,
                 rehearse("x.h5",
                          "HDF5",
                          [] {
                            const pid_t child = getpid();
                            bool same = false;
                            rehearse("y.h5", "HDF5", [&] { same = getpid() == child; });
                            throw FileError(same ? "forked" : "skipped");
                          }),
                 "skipped");
}

TEST(Rehearse, MayForkWhileAnotherThreadUsesHdf5) {
  std::atomic<bool> done{false};
  std::thread busy([&] {
    while (!done) {
      const hdf5::Quiet quiet;
      const hdf5::Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    }
  });
  for (int k = 0; k < 50; ++k) {
    rehearse("x.h5",
             "HDF5",
             [] {
               const hdf5::Quiet quiet;
               const hdf5::Handle list(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
             },
             {20, 0});
  }
  done = true;
  busy.join();
}

}  // namespace
}  // namespace matapprox
