#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

TEST(Threads, EachIndexOnceForAnyThreadCount) {
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    std::vector<std::atomic<int>> calls(1000);
    parallel_for(1000, [&](Index i) { ++calls[static_cast<std::size_t>(i)]; });
    for (const auto& number : calls) ASSERT_EQ(number, 1);
  }
  set_threads(1);
}

TEST(Threads, ExceptionsComeBackToTheCaller) {
  for (const int count : {1, 3}) {
    set_threads(count);
    EXPECT_THROW(parallel_for(100,
                              [](Index i) {
                                if (i == 42) throw std::runtime_error("42");
                              }),
                 std::runtime_error);
  }
  set_threads(1);
}

TEST(Threads, NestedCallsRunInTheCallingThread) {
  set_threads(3);
  std::atomic<int> calls{0};
  parallel_for(5, [&](Index) { parallel_for(7, [&](Index) { ++calls; }); });
  EXPECT_EQ(calls, 35);
  parallel_for(0, [&](Index) { ++calls; });
  EXPECT_EQ(calls, 35);
  set_threads(1);
}

TEST(Threads, CallsFromSeveralThreadsAtOnceAllComplete) {
  set_threads(3);
  std::atomic<Index> sum{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&] {
      for (int loop = 0; loop < 200; ++loop) parallel_for(10, [&](Index i) { sum += i; });
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sum, 4 * 200 * 45);
  set_threads(1);
}

TEST(Threads, ManyShortLoopsOneAfterTheOtherAllComplete) {
  set_threads(4);
  std::atomic<Index> calls{0};
  for (int loop = 0; loop < 20000; ++loop) parallel_for(3, [&](Index) { ++calls; });
  EXPECT_EQ(calls, 60000);
  set_threads(1);
}

TEST(Threads, AForkedProcessHasHelpersOfItsOwn) {
  set_threads(3);
  parallel_for(10, [](Index) {});
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<int> calls{0};
    parallel_for(100, [&](Index) { ++calls; });
    _exit(calls == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  set_threads(1);
}

TEST(Threads, FewerThanOneIsRefused) { EXPECT_THROW(set_threads(0), InvalidArgument); }

}  // namespace
}  // namespace matapprox
