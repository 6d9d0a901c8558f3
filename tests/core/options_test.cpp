#include "matapprox/core/options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <map>
#include <string>

#include "matapprox/core/error.hpp"

namespace matapprox {

enum class Color { kRed, kGreen };
template <>
struct EnumNames<Color> {
  static constexpr std::array<std::string_view, 2> values{"red", "green"};
};

namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Sample {
  Index count = 3;
  std::uint64_t seed = 1;
  double tolerance = 0.1;
  bool flag = false;
  std::string name = "x";
  std::vector<Index> list{1, 2};
  StorageBudget budget;
  Color color = Color::kGreen;
  void visit(OptionVisitor& v) {
    v.visit("count", count, "a count");
    v.visit("seed", seed, "a seed");
    v.visit("tolerance", tolerance, "a tolerance");
    v.visit("flag", flag, "a flag");
    v.visit("name", name, "a name");
    v.visit("list", list, "a list");
    v.visit("budget", budget, "a budget");
    v.visit_enum("color", color, "a color");
  }
};

bool set(Sample& sample, std::string_view name, std::string_view text) {
  OptionSetter setter(name, text);
  sample.visit(setter);
  return setter.found;
}

TEST(Options, WhatIsListedCanBeSetBack) {
  Sample sample;
  sample.tolerance = 1.0 / 3.0;
  sample.seed = std::numeric_limits<std::uint64_t>::max();
  sample.budget = parse_budget("12.5%");
  sample.list = {};
  Sample again;
  for (const OptionText& option : list_options(sample))
    EXPECT_TRUE(set(again, option.name, option.value)) << option.name;
  EXPECT_EQ(again.tolerance, sample.tolerance);
  EXPECT_EQ(again.seed, sample.seed);
  EXPECT_EQ(again.budget.amount, sample.budget.amount);
  EXPECT_TRUE(again.list.empty());
}

TEST(Options, ListsWhatEachHolds) {
  for (const OptionText& option : list_options(Sample{})) {
    const std::map<std::string, OptionType> expected{{"count", OptionType::kInteger},
                                                     {"seed", OptionType::kInteger},
                                                     {"tolerance", OptionType::kNumber},
                                                     {"flag", OptionType::kFlag},
                                                     {"list", OptionType::kIntegers},
                                                     {"budget", OptionType::kBudget},
                                                     {"color", OptionType::kChoice}};
    const auto found = expected.find(option.name);
    EXPECT_EQ(option.type, found == expected.end() ? OptionType::kText : found->second)
        << option.name;
  }
}

TEST(Options, SettingReachesTheNamedMemberOnly) {
  Sample sample;
  EXPECT_TRUE(set(sample, "color", "red"));
  EXPECT_TRUE(set(sample, "list", "4,5,6"));
  EXPECT_TRUE(set(sample, "flag", "on"));
  EXPECT_FALSE(set(sample, "colour", "red"));
  EXPECT_EQ(sample.color, Color::kRed);
  EXPECT_EQ(sample.list, (std::vector<Index>{4, 5, 6}));
  EXPECT_TRUE(sample.flag);
  EXPECT_EQ(sample.count, 3);
}

TEST(Options, TextThatDoesNotFitIsRefusedWithTheLegalValues) {
  Sample sample;
  EXPECT_THAT([&] { set(sample, "count", "3.5"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("'3.5' is not a whole number")));
  EXPECT_THAT([&] { set(sample, "seed", "-1"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("option seed: '-1'")));
  EXPECT_THAT([&] { set(sample, "tolerance", "small"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("is not a number")));
  EXPECT_THAT([&] { set(sample, "flag", "perhaps"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("true or false")));
  EXPECT_THAT([&] { set(sample, "list", "1,,2"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("comma-separated")));
  EXPECT_THAT([&] { set(sample, "color", "blue"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("not one of red, green")));
}

TEST(Options, NearestName) {
  const std::vector<std::string> names{"truncated_svd", "nystrom", "cur", "chord"};
  EXPECT_EQ(nearest_name("nystrm", names), "nystrom");
  EXPECT_EQ(nearest_name("truncated-svd", names), "truncated_svd");
  EXPECT_EQ(nearest_name("cord", names), "chord");
  EXPECT_EQ(nearest_name("mxt", std::vector<std::string>{"mtx", "mat"}),
            "mtx");  // a transposition counts as one edit
  EXPECT_EQ(nearest_name("xyzzyxyzzy", names), "");
}

TEST(Options, NumbersAreDecimalAndTooLargeOnesComeWithTheRange) {
  Sample sample;
  EXPECT_TRUE(set(sample, "count", "010"));
  EXPECT_EQ(sample.count, 10);
  for (const char* text : {"0x10", "1_000", "1'000", "+5", " 5", "5 ", ""}) {
    EXPECT_THAT([&] { set(sample, "count", text); },
                ThrowsMessage<InvalidArgument>(HasSubstr("is not a whole number")))
        << text;
  }
  EXPECT_THAT([&] { set(sample, "count", "99999999999999999999"); },
              ThrowsMessage<InvalidArgument>(
                  HasSubstr("is outside -9223372036854775808..9223372036854775807")));
  EXPECT_THAT([&] { set(sample, "seed", "18446744073709551616"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("is outside 0..18446744073709551615")));
  EXPECT_THAT([&] { set(sample, "list", "1,99999999999999999999"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("99999999999999999999 is outside")));
  EXPECT_THAT([&] { set(sample, "tolerance", "1e999"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("1e999 is beyond the range of doubles")));
}

TEST(Options, OldNamesAreKnown) {
  EXPECT_EQ(present_name("embedding_deviation"), "embedding_init_std");
  EXPECT_EQ(present_name("rank"), "rank");
}

}  // namespace
}  // namespace matapprox
