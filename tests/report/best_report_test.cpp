#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "matapprox/factors/packing.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/dense.hpp"
#include "report/best_page.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::report {
namespace {

using testing::HasSubstr;

/// A smooth matrix with a step on the diagonal: blocks of all sizes. Its entries do not depend on
/// i - j alone, so that it has no exact store of few bytes.
Matrix stepped(Index rows, Index cols, bool symmetric) {
  Matrix A(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) {
      const double distance = std::abs(static_cast<double>(i) - static_cast<double>(j));
      const double weight = 1 + 1e-9 * static_cast<double>(i + j);
      A(i, j) = weight / (1 + 0.2 * distance) + (!symmetric && i > j ? 0.3 : 0);
    }
  }
  return A;
}

BlockMatrix blocks_in(const Matrix& A, double share) {
  const StorageBudget budget{StorageBudget::Unit::kShare, share, Precision::kDouble};
  return *blocks_of(hierarchical(DenseOperator(A), {.budget = budget}));
}

Index bytes_of_leaves(const BlockMatrix& blocks) {
  Index sum = 0;
  for (std::size_t leaf = 0; leaf < blocks.content().leaves.size(); ++leaf)
    sum += blocks.leaf_bytes(leaf);
  return sum;
}

TEST(Partition, SpreadsTheBitsOfEachLeafOverItsEntries) {
  for (const bool symmetric : {true, false}) {
    const BlockMatrix blocks = blocks_in(stepped(200, symmetric ? 200 : 120, symmetric), 0.05);
    ASSERT_EQ(blocks.symmetric(), symmetric);
    ASSERT_GT(blocks.content().leaves.size(), 3U);
    const Partition partition = partition_of(blocks, 1024);
    const Index zoom = 1024 / 200;
    EXPECT_EQ(partition.bits.rows(), zoom * 200);
    EXPECT_EQ(partition.bits.cols(), zoom * blocks.cols());
    const auto bytes = static_cast<double>(bytes_of_leaves(blocks));
    EXPECT_NEAR(partition.bits.sum() / static_cast<double>(zoom * zoom), 8 * bytes, 1e-9 * bytes);
    EXPECT_EQ(std::accumulate(partition.bytes.begin(), partition.bytes.end(), Index{0}), bytes);
    EXPECT_EQ(std::accumulate(partition.leaves.begin(), partition.leaves.end(), Index{0}),
              static_cast<Index>(blocks.content().leaves.size()));
    // The upper left corner of every leaf is on a border.
    for (const BlockLeaf& leaf : blocks.content().leaves) {
      EXPECT_TRUE(partition.borders(zoom * leaf.row, zoom * leaf.column));
      EXPECT_FALSE(partition.borders(zoom * leaf.row + 1, zoom * leaf.column + 1));
      EXPECT_TRUE(!symmetric || partition.borders(zoom * leaf.column, zoom * leaf.row));
    }
  }
}

TEST(Partition, OfALargeMatrixIsNoLargerThanItsImage) {
  const BlockMatrix blocks = blocks_in(stepped(300, 200, false), 0.05);
  const Partition partition = partition_of(blocks, 90);
  EXPECT_EQ(partition.bits.rows(), 90);
  EXPECT_EQ(partition.bits.cols(), 60);
  EXPECT_GT(partition.bits.minCoeff(), 0.0);
  EXPECT_GT(bits_scale(partition).high, 0.0);
}

TEST(HeatMap, MarkedCellsAreGray) {
  const Matrix cells = Matrix::Constant(2, 2, 1.0);
  CellMarks marked = CellMarks::Constant(2, 2, false);
  marked(0, 1) = true;
  const GrayImage image =
      parse_image(heat_map_png(cells, {ColorMap::kBits, 0, 1, 0}, marked), "image");
  EXPECT_LT(image.values(0, 0), 60);
  EXPECT_NEAR(image.values(0, 1), 0x8f, 6);
  EXPECT_EQ(image.values(1, 0), image.values(0, 0));
}

TEST(StoredComponents, AreThoseOfThePackedProduct) {
  const Vector values = test::geometric_spectrum(12, 2);
  for (const bool symmetric : {false, true}) {
    const Matrix A =
        symmetric ? test::with_eigenvalues(values) : test::with_singular_values(40, 30, values);
    const Approximation B =
        run(find_method("truncated_svd"),
            DenseOperator(A),
            {{"rank", "12"}, {"symmetric_storage", symmetric ? "true" : "false"}},
            Precision::kPacked)
            .approximation;
    const std::vector<StoredComponent> components = stored_components(B);
    ASSERT_EQ(components.size(), 12U);
    for (std::size_t k = 0; k < components.size(); ++k) {
      EXPECT_NEAR(components[k].size, values(static_cast<Index>(k)), 0.02 * components[k].size);
      EXPECT_GT(components[k].bits, 0);
      EXPECT_LE(components[k].bits, components[std::max<std::size_t>(k, 1) - 1].bits);
    }
  }
  EXPECT_TRUE(stored_components(
                  run(find_method("cur"), DenseOperator(stepped(40, 40, true)), {{"rank", "4"}})
                      .approximation)
                  .empty());
}

TEST(StoredComponents, OfBlocksCountMirrorImages) {
  const Matrix A = stepped(160, 160, true);
  const BlockMatrix blocks = blocks_in(A, 0.05);
  const std::vector<StoredComponent> components =
      stored_components(FactorProduct({make_factor("H", blocks)}));
  double sum = 0;
  for (const StoredComponent& component : components) sum += component.size * component.size;
  double expected = 0;
  std::size_t count = 0;
  for (std::size_t leaf = 0; leaf < blocks.content().leaves.size(); ++leaf) {
    const BlockLeaf& block = blocks.content().leaves[leaf];
    if (block.kind != LeafKind::kLowRank) continue;
    count += static_cast<std::size_t>(block.count);
    // Components are nearly orthogonal.
    expected += (block.row == block.column ? 1 : 2) * blocks.leaf_values(leaf).squaredNorm();
  }
  EXPECT_EQ(components.size(), count);
  EXPECT_NEAR(sum, expected, 0.05 * expected);
}

TEST(OrderedCells, AreTheEntriesInTheOrderOfTheBlocks) {
  const Matrix A = test::random_matrix(7, 7);
  const std::vector<Index> order{3, 6, 0, 1, 5, 2, 4};
  const Matrix expected = A(order, order);
  EXPECT_EQ(ordered_cells(DenseOperator(A), Permutation(order), image_plan(7, 7, false)), expected);
  ImagePlan plan = image_plan(7, 7, false);
  plan.block = 3;
  plan.cells = Cells::kAbsoluteMeans;
  const Matrix means = ordered_cells(DenseOperator(A), Permutation(order), plan);
  ASSERT_EQ(means.rows(), 3);
  EXPECT_NEAR(means(0, 1), expected.block(0, 3, 3, 3).cwiseAbs().mean(), test::rounding(2 * 10));
  EXPECT_NEAR(means(2, 0), expected.block(6, 0, 1, 3).cwiseAbs().mean(), test::rounding(2 * 10));
}

struct BestCase {
  DenseOperator A;
  BestContents contents;
  Spectrum spectrum;
};

BestCase best_case(const BestOptions& options, const Matrix& A = stepped(120, 100, false)) {
  DenseOperator held(A);
  BestResult result = best(held, options);
  return {held,
          {"a.mtx", "dense", options, std::move(result), 1},
          {kernels::singular_values(A), true, "all 100, by LAPACK"}};
}

const ChartSeries* find_series(const Chart& chart, const std::string& title) {
  for (const ChartSeries& series : chart.series) {
    if (series.title.find(title) != std::string::npos) return &series;
  }
  return nullptr;
}

TEST(BestCharts, ErrorAgainstBytesHasCandidatesBudgetAndLowerBound) {
  BestCase made = best_case({.budget = parse_budget("4%")});
  made.contents.result.lower_bound = 0.25 * *made.contents.result.measurement.relative_error;
  const Chart chart = error_bytes_chart(made.contents, made.spectrum);
  const auto bytes = static_cast<double>(made.contents.result.approximation.storage().bytes);
  const ChartSeries* chosen = find_series(chart, "(chosen)");
  ASSERT_NE(chosen, nullptr);
  EXPECT_EQ(chosen->points.front().first, bytes);
  EXPECT_NEAR(
      chosen->points.front().second, *made.contents.result.measurement.relative_error, 1e-12);
  ASSERT_EQ(chart.lines.size(), 1U);
  EXPECT_EQ(chart.lines[0].x, 0.04 * 8 * 120 * 100);
  const ChartSeries* bound = find_series(chart, "lower bound");
  ASSERT_NE(bound, nullptr);
  EXPECT_EQ(bound->points.back(),
            (std::pair<double, double>(bytes, *made.contents.result.lower_bound)));
  const ChartSeries* curve = find_series(chart, "low rank");
  ASSERT_NE(curve, nullptr);
  const auto [at, error] = curve->points[20];
  EXPECT_NEAR(error,
              packing_error(made.spectrum.values, made.spectrum.values.norm(), 120, 100, false, at)
                  .at_least,
              1e-6 * error);
  EXPECT_EQ(find_series(chart, "target"), nullptr);
}

TEST(BestCharts, TheWaterLevelIsTheSmallestComponent) {
  const BestCase made = best_case({.target_error = 1e-3, .methods = "truncated_svd"});
  const std::vector<StoredComponent> components =
      stored_components(made.contents.result.approximation);
  ASSERT_FALSE(components.empty());
  const Chart chart = component_chart(made.contents, made.spectrum, components);
  const ChartSeries* level = find_series(chart, "threshold: no bits below it");
  ASSERT_NE(level, nullptr);
  EXPECT_EQ(level->points.front().second, level->points.back().second);
  std::size_t count = 0;
  for (const ChartSeries& series : chart.series) {
    if (!series.title.ends_with(" bits")) continue;
    count += series.points.size();
    for (const auto& point : series.points) EXPECT_GE(point.second, level->points.front().second);
  }
  EXPECT_EQ(count, components.size());
  EXPECT_NE(find_series(error_bytes_chart(made.contents, made.spectrum), "target error"), nullptr);
}

TEST(BestCharts, EstimateBoundAndExactStandSideBySide) {
  const BestCase made =
      best_case({.target_error = 0.05, .norm = CertifiedNorm::kSpectral, .confidence = 0.9});
  const Chart chart = expectation_chart(made.contents);
  const ChartSeries* measured = find_series(chart, "measured");
  const ChartSeries* bound = find_series(chart, "certified, spectral norm");
  ASSERT_NE(measured, nullptr);
  ASSERT_NE(bound, nullptr);
  EXPECT_LE(measured->points.size(), chart.x.names.size());
  EXPECT_EQ(chart.x.names.size(), chart.x.range->second - 0.5);
  EXPECT_NE(find_series(chart, "target error, spectral norm"), nullptr);
}

TEST(BestSummary, SaysTheLowerBoundAndTheGap) {
  BestCase made = best_case({.budget = parse_budget("4%"), .methods = "hierarchical"},
                            test::random_matrix(120, 100));
  ASSERT_TRUE(made.contents.result.lower_bound.has_value());
  EXPECT_LE(*made.contents.result.lower_bound, *made.contents.result.measurement.relative_error);
  made.contents.result.lower_bound.reset();
  EXPECT_THAT(best_text(made.contents, false), testing::Not(HasSubstr("lower bound")));
  EXPECT_TRUE(to_json(made.contents)["lower_bound"].is_null());
  made.contents.result.lower_bound = 0.5 * *made.contents.result.measurement.relative_error;
  EXPECT_THAT(best_text(made.contents, false), HasSubstr("the result is 2 times that"));
  EXPECT_EQ(to_json(made.contents)["lower_bound"], *made.contents.result.lower_bound);
  EXPECT_THAT(request_text(made.contents.options, made.contents.result.facts),
              HasSubstr("at most 4 % of the bytes of doubles, 3840"));
}

TEST(BestReport, HasEveryPartForEveryKindOfResult) {
  if (std::system("command -v gnuplot >/dev/null") != 0) GTEST_SKIP() << "there is no gnuplot";
  for (const char* methods : {"hierarchical", "truncated_svd", "cur"}) {
    const bool numbers = std::string(methods) == "cur";
    const BestCase made =
        best_case({.budget = parse_budget(numbers ? "1500" : "5%"), .methods = methods});
    const Report report =
        best_report(made.A, made.contents, {.page = true, .plots = true, .command = "matapprox"});
    for (const char* part : {"Error against bytes",
                             "Estimate, bound, exact",
                             "Where the bits are",
                             "Approximation and residual",
                             "How to repeat it"})
      EXPECT_THAT(report.html, HasSubstr(part)) << methods;
    const bool blocks = std::string(methods) == "hierarchical";
    EXPECT_EQ(report.html.find("stored bits per entry") != std::string::npos, blocks);
    EXPECT_EQ(report.html.find("threshold: no bits below it") != std::string::npos, !numbers);
    const std::vector<std::string> legal = best_plot_names();
    for (const ReportFile& file : report.plots) {
      EXPECT_THAT(legal, testing::Contains(file.name));
      EXPECT_GT(file.bytes.size(), 500U) << file.name;
    }
    EXPECT_EQ(report.plots.size(), blocks ? legal.size() : legal.size() - 2);
  }
}

}  // namespace
}  // namespace matapprox::report
