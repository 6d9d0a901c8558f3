#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/attention/mechanisms/timing.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using attention::AttentionCost;
using attention::Crossover;
using attention::TableOneSetting;

using TableOneRow = AttentionCost (*)(const TableOneSetting&, Index);

Crossover against_softmax(TableOneRow row, const TableOneSetting& setting) {
  return attention::crossover([&](Index n) { return row(setting, n); },
                              [&](Index n) { return table_one_softmax(setting, n); },
                              2000);
}

/// The smallest integer above the positive root of a x^2 + b x + c.
Index above_root(double a, double b, double c) {
  return static_cast<Index>(std::floor((-b + std::sqrt(b * b - 4 * a * c)) / (2 * a))) + 1;
}

/// The setting of the experiments. Linformer: 2 d n^2 > 4 k d n from n = 2 k + 1 on.
TEST(AttentionCrossover, OfTableOneAtTheExperimentsSetting) {
  const Crossover singular = against_softmax(attention::table_one_singularformer, {});
  EXPECT_EQ(singular.multiplications, 72);
  EXPECT_EQ(singular.stored, 87);
  const Crossover linformer = against_softmax(attention::table_one_linformer, {});
  EXPECT_EQ(linformer.multiplications, 2 * 256 + 1);
  EXPECT_EQ(linformer.stored, 420);
}

/// The setting of Fig. 4, h = 8, k = r = 256, at two widths.
TEST(AttentionCrossover, OfTableOneAtTheSettingOfFigureFour) {
  const auto at = [](Index width) { return TableOneSetting{width, 8, 256, 256}; };
  const Crossover narrow = against_softmax(attention::table_one_singularformer, at(1024));
  EXPECT_EQ(narrow.multiplications, 301);
  EXPECT_EQ(narrow.stored, 326);
  const Crossover wide = against_softmax(attention::table_one_singularformer, at(2048));
  EXPECT_EQ(wide.multiplications, 280);
  EXPECT_EQ(wide.stored, 344);
  for (const Index d : {1024, 2048}) {
    const Crossover linformer = against_softmax(attention::table_one_linformer, at(d));
    EXPECT_EQ(linformer.multiplications, 513);
    // 8 n^2 + 5 d n > (5 d + 512 + 2048) n + 512 d
    EXPECT_EQ(linformer.stored, above_root(8, -2560, -512.0 * static_cast<double>(d)));
  }
}

/// Cost counted by a layer at the setting of the experiments.
AttentionCost counted(const std::string& mechanism, const NamedOptions& options, Index length) {
  const TableOneSetting setting;
  attention::ParameterList list;
  const attention::AttentionShape shape{
      .width = setting.width, .heads = setting.heads, .length = 2000};
  return attention::make_attention<double>(mechanism, list, "a", shape, options)->cost(length);
}

/// The layers and the table count the same multiplications; the stored numbers differ as
/// timing.hpp describes.
TEST(AttentionCrossover, LayersCountWhatTableOneCounts) {
  const TableOneSetting s;
  for (const Index n : {1, 50, 64, 1000}) {
    const Index result = s.width * n;
    const AttentionCost softmax = counted("softmax", {}, n);
    const AttentionCost softmax_row = table_one_softmax(s, n);
    EXPECT_EQ(softmax.multiplications, softmax_row.multiplications);
    EXPECT_EQ(softmax.stored, softmax_row.stored - result - s.heads * n * n + s.heads * n);

    const Index k = s.linformer_rank;
    const AttentionCost linformer = counted("linformer", {{"rank", "256"}, {"scope", "head"}}, n);
    const AttentionCost linformer_row = table_one_linformer(s, n);
    EXPECT_EQ(linformer.multiplications, linformer_row.multiplications);
    EXPECT_EQ(linformer.stored,
              linformer_row.stored - result - (2 + s.heads) * k * n + s.heads * n);

    // Queries and result: 2 N d^2; E X and F X, scores and their use: 4 k N d; projected: 2 k d^2.
    const AttentionCost shared = counted("linformer", {{"rank", "256"}}, n);
    EXPECT_EQ(shared.multiplications,
              2 * n * s.width * s.width + 4 * k * n * s.width + 2 * k * s.width * s.width);
    EXPECT_EQ(shared.stored, 2 * n * s.width + s.heads * n + 4 * k * s.width + 2 * k);

    const AttentionCost singular = counted("singularformer", {}, n);
    const AttentionCost singular_row = table_one_singularformer(s, n);
    EXPECT_EQ(singular.multiplications, singular_row.multiplications);
    EXPECT_EQ(singular.stored, singular_row.stored - result + n + s.singularformer_rank);
  }
}

/// Compared with softmax attention without N x N arrays, Linformer never stores less with E and F
/// per head; with a shared pair it stores less from N = 2 k + k / d = 512.7 on. It needs fewer
/// multiplications if N^2 + (d - 2 k) N > k d, from N = 384 on. Singularformer stores less from N =
/// (6 r d + h r^2 + r) / (4 d + h - r - 1) = 116.5 on.
TEST(AttentionCrossover, OfOurLayers) {
  const auto counts = [](const char* mechanism, const NamedOptions& options) {
    return [=](Index n) { return counted(mechanism, options, n); };
  };
  const auto against = [&](const attention::CostOfLength& cost) {
    return attention::crossover(cost, counts("softmax", {}), 600);
  };
  const Crossover singular = against(counts("singularformer", {}));
  EXPECT_EQ(singular.multiplications, 72);
  EXPECT_EQ(singular.stored, 117);
  const Crossover linformer = against(counts("linformer", {{"rank", "256"}}));
  EXPECT_EQ(linformer.multiplications, 385);
  EXPECT_EQ(linformer.stored, 513);
  const Crossover of_heads = against(counts("linformer", {{"rank", "256"}, {"scope", "head"}}));
  EXPECT_EQ(of_heads.multiplications, 513);
  EXPECT_EQ(of_heads.stored, std::nullopt);
}

TEST(AttentionCrossover, IsFromWhereOnNotWhereFirst) {
  // Below the reference at 3, above at 4 and 5, below from 6 on.
  const auto cost = [](Index n) { return AttentionCost{n == 3 || n >= 6 ? 1 : 9, n}; };
  const auto reference = [](Index) { return AttentionCost{5, 100}; };
  EXPECT_EQ(attention::crossover(cost, reference, 20).multiplications, 6);
  EXPECT_EQ(attention::crossover(cost, reference, 5).multiplications, std::nullopt);
  EXPECT_EQ(attention::crossover(cost, reference, 20).stored, 1);
  EXPECT_THROW(attention::crossover(cost, reference, 0), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
