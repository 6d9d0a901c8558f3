#include "matapprox/core/budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Unit = StorageBudget::Unit;

TEST(Budget, ParsesEachUnit) {
  const struct {
    const char* text;
    Unit unit;
    double amount;
  } cases[] = {
      {"18432", Unit::kNumbers, 18432},
      {"10%", Unit::kShare, 0.10},
      {"2.5 %", Unit::kShare, 0.025},
      {"4MB", Unit::kBytes, 4e6},
      {"4MiB", Unit::kBytes, 4194304},
      {"1e3", Unit::kNumbers, 1000},
      {"512B", Unit::kBytes, 512},
      {"3 kB", Unit::kBytes, 3000},
      {"1KiB", Unit::kBytes, 1024},
      {"2GB", Unit::kBytes, 2e9},
      {"2GiB", Unit::kBytes, 2147483648.0},
  };
  for (const auto& expected : cases) {
    const StorageBudget budget = parse_budget(expected.text);
    EXPECT_EQ(budget.unit, expected.unit) << expected.text;
    EXPECT_DOUBLE_EQ(budget.amount, expected.amount) << expected.text;
  }
}

TEST(Budget, RefusesWhatIsNoBudget) {
  for (const char* text :
       {"", "x", "10x", "-5", "0", "0%", "nan", "inf", "1e999", "%", "4mb", "10 % B"}) {
    EXPECT_THAT([&] { parse_budget(text); },
                ThrowsMessage<InvalidArgument>(HasSubstr("is not a positive number")))
        << text;
  }
}

TEST(Budget, TextIsReadBackAsTheSameBudget) {
  for (const char* text : {"18432", "10%", "4MB", "0.3%", "33.3%", "123456789012"}) {
    const StorageBudget budget = parse_budget(text);
    const StorageBudget again = parse_budget(budget.text());
    EXPECT_EQ(again.unit, budget.unit);
    EXPECT_DOUBLE_EQ(again.amount, budget.amount) << text;
  }
}

TEST(Budget, ComparesInItsOwnUnit) {
  const Storage storage{100, 900};
  EXPECT_TRUE(parse_budget("100").admits(storage, 50, 50));
  EXPECT_FALSE(parse_budget("99").admits(storage, 50, 50));
  EXPECT_TRUE(parse_budget("4%").admits(storage, 50, 50));
  EXPECT_FALSE(parse_budget("3.9%").admits(storage, 50, 50));
  EXPECT_TRUE(parse_budget("900B").admits(storage, 50, 50));
  EXPECT_FALSE(parse_budget("899B").admits(storage, 50, 50));
  EXPECT_TRUE(StorageBudget{}.admits(storage, 1, 1));
}

// Table of the paper's public code: N = 256 stores 18,432 numbers; the other values computed by
// hand with log2.
TEST(Budget, ChordReferenceNumbers) {
  EXPECT_EQ(chord_reference_numbers(1), 1);
  EXPECT_EQ(chord_reference_numbers(2), 2 * 1 * 2);
  EXPECT_EQ(chord_reference_numbers(16), 16 * 4 * 5);
  EXPECT_EQ(chord_reference_numbers(256), 18432);
  EXPECT_EQ(chord_reference_numbers(306), 306 * 9 * 9);
  EXPECT_EQ(default_budget(306, 306).amount, 306 * 81);
}

TEST(Budget, LargestRankThatFits) {
  const auto svd_storage = [](Index k) {
    const Index numbers = (306 + 306 + 1) * k;
    return Storage{numbers, 8 * numbers};
  };
  // Example of the paper: mesh2e1, 24,786 numbers allow rank 40, not 41.
  EXPECT_EQ(resolve_rank("m", 0, {}, 306, 306, 306, svd_storage), 40);
  EXPECT_EQ(resolve_rank("m", 7, {}, 306, 306, 306, svd_storage), 7);
  EXPECT_EQ(resolve_rank("m", 0, parse_budget("613"), 306, 306, 306, svd_storage), 1);
  EXPECT_EQ(resolve_rank("m", 0, parse_budget("1e9"), 306, 306, 306, svd_storage), 306);
  EXPECT_THAT([&] { resolve_rank("m", 0, parse_budget("612"), 306, 306, 306, svd_storage); },
              ThrowsMessage<BudgetTooSmall>(HasSubstr("rank 1 stores 613 numbers")));
  EXPECT_THAT([&] { resolve_rank("m", 307, {}, 306, 306, 306, svd_storage); },
              ThrowsMessage<InvalidArgument>(HasSubstr("m: rank 307 is outside 1..306")));
  EXPECT_THAT([&] { resolve_rank("m", -1, {}, 306, 306, 306, svd_storage); },
              ThrowsMessage<InvalidArgument>(HasSubstr("rank -1 is outside 1..306")));
  // Without a budget rank 1 always fits, so that orders 1 and 2 give a result.
  EXPECT_EQ(resolve_rank("m", 0, {}, 1, 1, 1, [](Index k) { return Storage{3 * k, 24 * k}; }), 1);
  EXPECT_THROW(resolve_rank("m", 0, {}, 0, 0, 0, svd_storage), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
