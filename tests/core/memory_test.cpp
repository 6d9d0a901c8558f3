#include "matapprox/core/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {
namespace {

TEST(Memory, PeakSeesAnAllocationThatWasTouchedAndFreed) {
  reset_peak_memory();
  const Index before = peak_memory_bytes();
  if (before == 0) GTEST_SKIP() << "this system does not tell peak memory";
  constexpr std::size_t kBytes = 200U << 20;
  {
    const std::vector<char> touched(kBytes, 1);
    EXPECT_EQ(touched[kBytes - 1], 1);
  }
  EXPECT_GE(peak_memory_bytes(), before + static_cast<Index>(kBytes) * 9 / 10);
}

TEST(Memory, MoreThanTheMachineHasIsRefusedWithBothFigures) {
  EXPECT_NO_THROW(require_memory(1e3, "a small thing"));
  EXPECT_THAT([] { require_memory(1e18, "a dense matrix"); },
              testing::ThrowsMessage<NotAvailable>(
                  testing::AllOf(testing::HasSubstr("a dense matrix needs 1e+09 GB"),
                                 testing::HasSubstr("this machine has"))));
}

TEST(RunControl, StopsOnRequestAndOnTime) {
  RunControl control;
  EXPECT_FALSE(control.should_stop());
  EXPECT_NO_THROW(control.throw_if_stopped("method"));
  control.max_seconds = 0;
  EXPECT_TRUE(control.out_of_time());
  EXPECT_THAT([&] { control.throw_if_stopped("method"); },
              testing::ThrowsMessage<Interrupted>(testing::HasSubstr("within 0 seconds")));
  const std::atomic<bool> stop{true};
  control.stop = &stop;
  EXPECT_THAT([&] { control.throw_if_stopped("method"); },
              testing::ThrowsMessage<Interrupted>(testing::HasSubstr("method: interrupted")));
}

TEST(ResumeState, MissingEntriesAreNamed) {
  ResumeState state;
  EXPECT_TRUE(state.empty());
  state.counters.emplace_back("step", 7);
  EXPECT_EQ(state.counter("step"), 7);
  EXPECT_THAT([&] { state.array("W"); },
              testing::ThrowsMessage<FileError>(testing::HasSubstr("'W'")));
}

}  // namespace
}  // namespace matapprox
