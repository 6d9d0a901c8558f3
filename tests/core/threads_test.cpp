#include "matapprox/core/threads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "matapprox/core/error.hpp"

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

TEST(Threads, FewerThanOneIsRefused) { EXPECT_THROW(set_threads(0), InvalidArgument); }

}  // namespace
}  // namespace matapprox
