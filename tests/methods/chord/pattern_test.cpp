#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

using Offsets = std::vector<std::vector<Index>>;

TEST(ChordPatternChoice, NamedPatternsDifferByOneLinkAtPowersOfTwo) {
  EXPECT_EQ(chord_pattern(16, {}), chord_reference_pattern(16));
  EXPECT_EQ(chord_pattern(16, {}).offsets, Offsets(4, {0, 1, 2, 4, 8}));
  EXPECT_EQ(chord_pattern(16, {.pattern = ChordLinks::kPaper}).offsets, Offsets(4, {0, 1, 2, 4}));
  EXPECT_EQ(chord_pattern(37, {.pattern = ChordLinks::kPaper}), chord_pattern(37, {}));
}

TEST(ChordPatternChoice, OwnOffsetsForAllFactorsOrOneListEach) {
  EXPECT_EQ(chord_pattern(9, {.offsets = "0, 1,3"}).offsets, Offsets(4, {0, 1, 3}));
  EXPECT_EQ(chord_pattern(9, {.offsets = "0,1,3", .factors = 2}).offsets, Offsets(2, {0, 1, 3}));
  const ChordOptions each{.offsets = "0,1;0,2;8"};
  EXPECT_EQ(chord_pattern(9, each).offsets, (Offsets{{0, 1}, {0, 2}, {8}}));
  EXPECT_EQ(chord_pattern(9, each).stored_numbers(), 45);
}

TEST(ChordPatternChoice, OwnNumberOfFactors) {
  EXPECT_EQ(chord_pattern(16, {.factors = 7}).offsets, Offsets(7, {0, 1, 2, 4, 8}));
  EXPECT_EQ(chord_pattern(1, {.factors = 3}).offsets, Offsets(3, {0}));
}

TEST(ChordPatternChoice, ALargerBudgetGivesAsManyFactorsAsFit) {
  const auto factors = [](const std::string& budget, ChordOptions options = {}) {
    options.budget = parse_budget(budget);
    return chord_pattern(64, options).factors();
  };
  const Index per_factor = Index{64} * 7;
  EXPECT_EQ(factors(std::to_string(6 * per_factor)), 6);
  EXPECT_EQ(factors(std::to_string(8 * per_factor - 1)), 7);
  EXPECT_EQ(factors(std::to_string(8 * per_factor)), 8);
  EXPECT_EQ(factors(std::to_string(8 * (8 * per_factor)) + "B"), 8);
  EXPECT_EQ(factors("100%"), 9);  // 9 * 7 * 64 = 4032 of 4096
  EXPECT_EQ(factors("1GB"), 9);   // no more than the matrix itself holds
  EXPECT_EQ(factors("1GB", {.factors = 6}), 6);
  EXPECT_EQ(factors("1GB", {.offsets = "0,1;0,2"}), 2);
  ChordOptions floats;
  floats.budget = {StorageBudget::Unit::kBytes, 4.0 * 8 * per_factor, Precision::kFloat};
  EXPECT_EQ(chord_pattern(64, floats).factors(), 8);
}

TEST(ChordPatternChoice, ASmallerBudgetIsRefusedWithWhatThePatternStores) {
  ChordOptions options{.budget = parse_budget("18431")};
  EXPECT_REFUSED(BudgetTooSmall,
                 chord_pattern(256, options),
                 "8 factors of order 256 store 18432 numbers (147456 bytes)");
  EXPECT_REFUSED(BudgetTooSmall, chord_pattern(256, options), "18431");
  options.factors = 7;
  EXPECT_EQ(chord_pattern(256, options).stored_numbers(), 7 * 256 * 9);
}

TEST(ChordPatternChoice, WrongOffsetsAreRefusedByName) {
  const auto choose = [](const std::string& offsets) {
    return chord_pattern(8, {.offsets = offsets});
  };
  EXPECT_REFUSED(InvalidArgument, choose("0,8"), "offset 8 of factor 1 is outside 0..7");
  EXPECT_REFUSED(InvalidArgument, choose("0,1;0,-1"), "offset -1 of factor 2 is outside 0..7");
  EXPECT_REFUSED(InvalidArgument, choose("0,1,1"), "factor 1 has offset 1 twice");
  EXPECT_REFUSED(InvalidArgument, choose("0,1;2,3,2"), "factor 2 has offset 2 twice");
  EXPECT_REFUSED(InvalidArgument, choose("0,one"), "offset 'one' of factor 1");
  EXPECT_REFUSED(InvalidArgument, choose("0,1;"), "offset '' of factor 2");
  EXPECT_REFUSED(InvalidArgument, choose("0,1.5"), "offset '1.5' of factor 1");
  EXPECT_REFUSED(InvalidArgument, choose("0,99999999999999999999"), "whole number in 0..7");
}

TEST(ChordPatternChoice, ContradictoryOptionsAreRefused) {
  const ChordOptions three{.offsets = "0,1;0,2", .factors = 3};
  EXPECT_REFUSED(InvalidArgument, chord_pattern(8, three), "factors is 3, but offsets has 2 lists");
  EXPECT_REFUSED(InvalidArgument, chord_pattern(8, {.factors = -1}), "factors -1 is negative");
  EXPECT_REFUSED(InvalidArgument, chord_pattern(0, {}), "order 0 is below 1");
}

}  // namespace
}  // namespace matapprox
