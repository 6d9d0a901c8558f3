#include "mpi/process.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "mpi/leader.hpp"

// All processes run these tests together (--together).
namespace matapprox::mpi {
namespace {

// The calling program may have chosen error codes, which this library does not check.
TEST(Together, AnErrorOfMpiEndsAllWhateverTheCallerChose) {
  MPI_Comm lenient = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &lenient);
  MPI_Comm_set_errhandler(lenient, MPI_ERRORS_RETURN);
  {
    const Process process(lenient);
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(process.comm(), &handler);
    EXPECT_TRUE(handler == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
  }
  MPI_Comm_free(&lenient);
}

TEST(Together, AProcessThatThrowsSomethingElseIsOneFailureToo) {
  const Process process(MPI_COMM_WORLD);
  bool failed = false;
  try {
    process.agree([&] {
      if (process.rank() == process.size() - 1) throw 1;  // NOLINT: not one of our exceptions
    });
  } catch (const AgreedFailure& failure) {
    failed = true;
    EXPECT_THROW(failure.throw_as_it_was(), std::runtime_error);
  }
  EXPECT_TRUE(failed);
}

// The other processes have left the serve loop by then: late operations are refused, not sent.
TEST(Together, AThreadOfTheLeaderMayAskWhileTheSessionEnds) {
  const Process process(MPI_COMM_WORLD);
  Session session(process, {});
  for (int again = 0; again < 300; ++again) {
    std::thread late;
    session.run([&](const std::shared_ptr<Leader>& leader) {
      late = std::thread([leader] {
        try {
          for (;;) leader->run(Remove{1});
        } catch (const NotAvailable&) {
        }
      });
    });
    Index told = again;
    process.broadcast(&told, sizeof told);
    EXPECT_EQ(told, again);
    if (late.joinable()) late.join();
  }
}

}  // namespace
}  // namespace matapprox::mpi
