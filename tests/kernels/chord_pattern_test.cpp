#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(ChordPattern, ReferenceIsThePublishedCodesPattern) {
  const ChordPattern pattern = chord_reference_pattern(256);
  EXPECT_EQ(pattern.factors(), 8);
  EXPECT_THAT(pattern.offsets[7], ElementsAre(0, 1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_EQ(pattern.stored_numbers(), 18432);
  EXPECT_EQ(pattern.first_value(3), 3 * 9 * 256);
}

TEST(ChordPattern, PaperIsThePapersText) {
  EXPECT_EQ(chord_paper_pattern(256).stored_numbers(), 16384);
  EXPECT_THAT(chord_paper_pattern(256).offsets[0], ElementsAre(0, 1, 2, 4, 8, 16, 32, 64));
  EXPECT_EQ(chord_torch_pattern(256), chord_reference_pattern(256));
  // The two conventions agree for orders that are not powers of two.
  for (const Index n : {3, 24, 35, 306, 649})
    EXPECT_EQ(chord_paper_pattern(n), chord_reference_pattern(n)) << n;
}

TEST(ChordPattern, StoredNumbersAreTheDefaultBudget) {
  for (const Index n : {1, 2, 3, 16, 37, 100, 256, 1000}) {
    EXPECT_EQ(chord_reference_pattern(n).stored_numbers(), chord_reference_numbers(n)) << n;
    EXPECT_NO_THROW(chord_reference_pattern(n).validate());
  }
}

TEST(ChordPattern, ReferenceReachesEveryDistance) {
  for (Index n = 1; n <= 130; ++n)
    EXPECT_TRUE(unreachable_distances(chord_reference_pattern(n)).empty()) << n;
}

TEST(ChordPattern, AlternatingReachesEveryDistanceWithTheSameNumbers) {
  for (Index n = 1; n <= 300; ++n) {
    const ChordPattern pattern = chord_alternating_pattern(n);
    ASSERT_NO_THROW(pattern.validate());
    EXPECT_EQ(pattern.stored_numbers(), chord_reference_numbers(n)) << n;
    EXPECT_TRUE(unreachable_distances(pattern).empty()) << n;
  }
}

TEST(ChordPattern, MixedRadixReachesEveryDistanceWithTheNumbersOfTheReference) {
  const auto expect_reached = [](Index n) {
    const Index links = chord_reference_numbers(n) / n;
    const ChordPattern pattern = chord_mixed_radix_pattern(n, links);
    ASSERT_NO_THROW(pattern.validate());
    EXPECT_LE(pattern.stored_numbers(), n * links) << n;
    EXPECT_TRUE(unreachable_distances(pattern).empty()) << n;
    for (const auto& offsets : pattern.offsets) EXPECT_EQ(offsets.front(), 0) << n;
  };
  for (Index n = 1; n <= 300; ++n) expect_reached(n);
  for (const Index n : {1138, 4096, 20000, 65536, 300000}) expect_reached(n);
}

TEST(ChordPattern, MixedRadixIsLocalStridedLocal) {
  const ChordPattern pattern = chord_mixed_radix_pattern(256, 72);
  ASSERT_EQ(pattern.factors(), 3);
  EXPECT_EQ(pattern.stored_numbers(), Index{72} * 256);
  EXPECT_THAT(pattern.offsets[1],
              ElementsAre(0,
                          11,
                          22,
                          33,
                          44,
                          55,
                          66,
                          77,
                          88,
                          99,
                          110,
                          121,
                          132,
                          143,
                          154,
                          165,
                          176,
                          187,
                          198,
                          209,
                          220,
                          231,
                          242,
                          253));
  EXPECT_THAT(
      chord_mixed_radix_pattern(20, 13).offsets,
      ElementsAre(
          ElementsAre(0, 1, 2, 19, 18), ElementsAre(0, 5, 10, 15), ElementsAre(0, 1, 19, 18)));
}

/// Three factors of width 75 cannot reach 20000 distances with one stride; with three strides they
/// can.
TEST(ChordPattern, MixedRadixTakesThreeStridesWhereOneIsNotEnough) {
  const ChordPattern pattern = chord_mixed_radix_pattern(20000, 225);
  ASSERT_EQ(pattern.factors(), 3);
  EXPECT_EQ(pattern.offsets[2][1], 267);  // 20000 / 75
  EXPECT_EQ(pattern.offsets[1][1], 4);    // 267 / 75
  EXPECT_EQ(pattern.offsets[0][1], 1);
  EXPECT_THROW(chord_mixed_radix_pattern(1000, 2), InvalidArgument);
}

TEST(ChordPattern, TorchMissesDistancesAwayFromPowersOfTwo) {
  EXPECT_EQ(chord_torch_pattern(1).stored_numbers(), 1);
  const ChordPattern pattern = chord_torch_pattern(2000);
  EXPECT_EQ(pattern.factors(), 10);
  EXPECT_EQ(pattern.links(0), 11);
  EXPECT_EQ(unreachable_distances(pattern).size(), 4U);
}

TEST(ChordPattern, PaperMissesExactlyOneDistanceAtPowersOfTwo) {
  for (const Index n : {4, 16, 256})
    EXPECT_THAT(unreachable_distances(chord_paper_pattern(n)), ElementsAre(n - 1));
}

TEST(ChordPattern, FewFactorsMissWhatTheirSumsMiss) {
  const ChordPattern pattern{8, {{0, 1}, {0, 4}}};  // sums: 0, 1, 4, 5
  EXPECT_THAT(unreachable_distances(pattern), ElementsAre(2, 3, 6, 7));
}

TEST(ChordPattern, BadPatternsAreRefused) {
  const auto refuse = [](const ChordPattern& pattern, const char* text) {
    EXPECT_THAT([&] { pattern.validate(); }, ThrowsMessage<InvalidArgument>(HasSubstr(text)));
  };
  refuse({0, {{0}}}, "order 0 is below 1");
  refuse({4, {}}, "at least one factor");
  refuse({4, {{0, 1}, {}}}, "factor 2 has no link");
  refuse({4, {{0, 4}}}, "outside 0..3");
  refuse({4, {{-1, 0}}}, "outside 0..3");
  refuse({4, {{0, 1, 1}}}, "offset 1 twice");
  EXPECT_THROW(chord_reference_pattern(0), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
