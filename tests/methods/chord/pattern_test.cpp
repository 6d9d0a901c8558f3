#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/methods/chord.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

using Offsets = std::vector<std::vector<Index>>;

TEST(ChordPatternChoice, NamedPatternsDifferByOneLinkAtPowersOfTwo) {
  const ChordOptions reference{.pattern = ChordFitPattern::kReference};
  const ChordOptions paper{.pattern = ChordFitPattern::kPaper};
  EXPECT_EQ(chord_pattern(16, reference), chord_reference_pattern(16));
  EXPECT_EQ(chord_pattern(16, reference).offsets, Offsets(4, {0, 1, 2, 4, 8}));
  EXPECT_EQ(chord_pattern(16, paper).offsets, Offsets(4, {0, 1, 2, 4}));
  EXPECT_EQ(chord_pattern(37, paper), chord_pattern(37, reference));
  EXPECT_EQ(named_chord_pattern(16, ChordLinks::kReference), chord_reference_pattern(16));
}

TEST(ChordPatternChoice, OwnOffsetsForAllFactorsOrOneListEach) {
  EXPECT_EQ(chord_pattern(9, {.offsets = "0, 1,3"}).offsets, Offsets(4, {0, 1, 3}));
  EXPECT_EQ(chord_pattern(9, {.offsets = "0,1,3", .factors = 2}).offsets, Offsets(2, {0, 1, 3}));
  const ChordOptions each{.offsets = "0,1;0,2;8"};
  EXPECT_EQ(chord_pattern(9, each).offsets, (Offsets{{0, 1}, {0, 2}, {8}}));
  EXPECT_EQ(chord_pattern(9, each).stored_numbers(), 45);
}

TEST(ChordPatternChoice, SignsOfTheDefaultAlternate) {
  const Offsets expected{{0, 1, 2, 4, 8}, {0, 15, 14, 12, 8}, {0, 1, 2, 4, 8}, {0, 15, 14, 12, 8}};
  EXPECT_EQ(chord_pattern(16, {}).offsets, expected);
  EXPECT_EQ(chord_pattern(16, {}), chord_alternating_pattern(16));
  ChordOptions own;
  own.offsets = "0,1,2,4,8";  // given offsets are not changed
  EXPECT_EQ(chord_pattern(16, own).offsets, Offsets(4, {0, 1, 2, 4, 8}));
}

TEST(ChordPatternChoice, MixedRadixStoresAsMuchAsTheReferenceUnlessABudgetIsGiven) {
  ChordOptions mixed{.pattern = ChordFitPattern::kMixedRadix};
  for (const Index n : {5, 16, 50, 256, 649, 4096}) {
    EXPECT_EQ(chord_pattern(n, mixed).stored_numbers(), chord_reference_pattern(n).stored_numbers())
        << n;
  }
  mixed.budget = parse_budget("40000");
  EXPECT_EQ(chord_pattern(256, mixed).stored_numbers(), 156 * 256);
  mixed.budget = parse_budget("1GB");
  EXPECT_LE(chord_pattern(256, mixed).stored_numbers(), 256 * 256);
  mixed.budget = parse_budget("1000");
  EXPECT_REFUSED(BudgetTooSmall, chord_pattern(256, mixed), "1000");
  mixed.budget = {};
  mixed.factors = 3;
  EXPECT_REFUSED(InvalidArgument, chord_pattern(256, mixed), "mixed_radix");
}

TEST(ChordPatternChoice, OwnNumberOfFactors) {
  const auto plain = [](Index n, Index factors) {
    const ChordOptions options{.pattern = ChordFitPattern::kReference, .factors = factors};
    return chord_pattern(n, options).offsets;
  };
  EXPECT_EQ(plain(16, 7), Offsets(7, {0, 1, 2, 4, 8}));
  EXPECT_EQ(plain(1, 3), Offsets(3, {0}));
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
  // 8 factors with 7 links store 56 offsets and 8 numbers of links beside their values.
  constexpr Index kIntegers = 8 * (8 * 7 + 8);
  EXPECT_EQ(factors(std::to_string(8 * (8 * per_factor) + kIntegers) + "B"), 8);
  EXPECT_EQ(factors(std::to_string(8 * (8 * per_factor) + kIntegers - 1) + "B"), 7);
  EXPECT_EQ(factors("100%"), 9);  // 9 * 7 * 64 = 4032 of 4096
  EXPECT_EQ(factors("1GB"), 9);   // no more than the matrix itself stores
  EXPECT_EQ(factors("1GB", {.factors = 6}), 6);
  EXPECT_EQ(factors("1GB", {.offsets = "0,1;0,2"}), 2);
  ChordOptions floats;
  floats.budget = {
      StorageBudget::Unit::kBytes, 4.0 * 8 * per_factor + kIntegers, Precision::kFloat};
  EXPECT_EQ(chord_pattern(64, floats).factors(), 8);
}

TEST(ChordPatternChoice, ASmallerBudgetIsRefusedWithWhatThePatternStores) {
  ChordOptions options{.budget = parse_budget("18431")};
  EXPECT_REFUSED(BudgetTooSmall,
                 chord_pattern(256, options),
                 "8 factors of order 256 store 18432 numbers (148096 bytes)");
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
