#include "reproduce/timing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "matapprox/core/error.hpp"
#include "support/thread_count.hpp"

namespace matapprox::test {
namespace {

TEST(Timing, EveryKernelIsTimedOnOneThreadAndOnAll) {
  const ThreadCount two(2);
  const KernelTimings timings = time_kernels({16, 33}, 2);
  EXPECT_EQ(threads(), 2);
  ASSERT_EQ(timings.kernels.size(), 12U + 7U);
  for (const TimedKernel& kernel : timings.kernels) {
    EXPECT_GT(kernel.best_seconds, 0) << kernel.name;
    EXPECT_LE(kernel.best_seconds, kernel.median_seconds) << kernel.name;
    EXPECT_GT(kernel.flops, 0) << kernel.name;
  }
  EXPECT_GT(timings.blas_gigaflops(), 0.1);
  EXPECT_THAT(timings_table(timings), testing::HasSubstr("load average"));
  const nlohmann::json json = nlohmann::json::parse(timings_json(timings));
  EXPECT_EQ(json["rows"].size(), timings.kernels.size());
  EXPECT_EQ(json["rows"][2]["n"], 16);
}

TEST(Timing, RefusesWhatCannotBeTimed) {
  EXPECT_THROW(time_kernels({256}, 0), InvalidArgument);
  EXPECT_THROW(time_kernels({1}, 1), InvalidArgument);
}

}  // namespace
}  // namespace matapprox::test
