#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/tasks/samples.hpp"
#include "attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::test {
namespace {

using tasks::Dash;
using tasks::DashedCurve;
using tasks::PathfinderOptions;
using tasks::PathfinderScene;
using tasks::Point;
using tasks::Sample;
using tasks::Split;

std::vector<PathfinderScene> drawn_scenes(const PathfinderOptions& options, std::size_t count) {
  std::vector<PathfinderScene> scenes;
  for (Index i = 0; scenes.size() < count && i < 50000; ++i) {
    tasks::SampleDraws draws(6, Split::kTrain, i);
    if (auto scene = tasks::draw_scene(options, draws)) scenes.push_back(*std::move(scene));
  }
  EXPECT_EQ(scenes.size(), count);
  return scenes;
}

double length_between(Point a, Point b) { return std::hypot(a.x - b.x, a.y - b.y); }

/// The smallest distance between 9 points on each of two dashes: at least the distance of the
/// dashes.
double sampled_distance(const Dash& a, const Dash& b) {
  double least = 1e9;
  for (int s = 0; s <= 8; ++s) {
    for (int t = 0; t <= 8; ++t) {
      const Point p{a.from.x + s / 8.0 * (a.to.x - a.from.x),
                    a.from.y + s / 8.0 * (a.to.y - a.from.y)};
      const Point q{b.from.x + t / 8.0 * (b.to.x - b.from.x),
                    b.from.y + t / 8.0 * (b.to.y - b.from.y)};
      least = std::min(least, length_between(p, q));
    }
  }
  return least;
}

TEST(Pathfinder, CurvesAreChainsOfDashes) {
  const auto options = tasks::resolved({});
  for (const auto& scene : drawn_scenes(options, 40)) {
    ASSERT_EQ(scene.curves.size(), 2U + 5U);  // 14 / 3 = 4 dashes each, 20 / 4 of them
    for (std::size_t c = 0; c < scene.curves.size(); ++c) {
      const DashedCurve& curve = scene.curves[c];
      ASSERT_EQ(curve.size(), c < 2 ? 14U : 4U);
      for (std::size_t k = 0; k < curve.size(); ++k) {
        const Dash& dash = curve[k];
        EXPECT_NEAR(length_between(dash.from, dash.to), 2, 1e-9);
        EXPECT_GE(std::min(dash.to.x, dash.to.y), 2);
        EXPECT_LE(std::max(dash.to.x, dash.to.y), 30);
        if (k == 0) continue;
        const Dash& before = curve[k - 1];
        EXPECT_NEAR(length_between(before.to, dash.from), 1, 1e-9);
        const double cosine = ((dash.to.x - dash.from.x) * (before.to.x - before.from.x) +
                               (dash.to.y - dash.from.y) * (before.to.y - before.from.y)) /
                              4;
        EXPECT_GE(cosine, std::cos(40 * M_PI / 180) - 1e-9);
      }
    }
  }
}

TEST(Pathfinder, CurvesKeepTheirDistance) {
  const auto options = tasks::resolved({});
  for (const auto& scene : drawn_scenes(options, 20)) {
    std::vector<std::pair<const Dash*, std::size_t>> dashes;  // numbered, one apart in a curve
    std::size_t number = 0;
    for (const DashedCurve& curve : scene.curves) {
      for (const Dash& dash : curve) dashes.emplace_back(&dash, number++);
      ++number;
    }
    for (const auto& [a, a_number] : dashes) {
      for (const auto& [b, b_number] : dashes) {
        if (a_number <= b_number + 1) continue;
        EXPECT_GE(sampled_distance(*a, *b), options.spacing - 1e-9);
      }
    }
  }
}

/// The curve, 0 or 1, with an end at the point; 2 if there is none.
std::size_t curve_ending_at(const PathfinderScene& scene, Point p) {
  for (std::size_t c = 0; c < 2; ++c) {
    const DashedCurve& curve = scene.curves[c];
    if (length_between(curve.front().from, p) < 1e-12) return c;
    if (length_between(curve.back().to, p) < 1e-12) return c;
  }
  return 2;
}

TEST(Pathfinder, MarkersAreTheEndsOfOneCurveOrOfTwo) {
  const auto options = tasks::resolved({.contour = 6});
  std::size_t joined = 0;
  const auto scenes = drawn_scenes(options, 2000);
  for (const auto& scene : scenes) {
    const std::size_t first = curve_ending_at(scene, scene.markers[0]);
    const std::size_t second = curve_ending_at(scene, scene.markers[1]);
    ASSERT_LT(std::max(first, second), 2U);
    EXPECT_EQ(scene.joined, first == second);
    EXPECT_GE(length_between(scene.markers[0], scene.markers[1]), 4);
    joined += scene.joined ? 1 : 0;
  }
  // 1000 +- 22.4
  EXPECT_NEAR(static_cast<double>(joined), 1000, 100);
}

TEST(Pathfinder, MarkersAreAsFarApartInBothClasses) {
  // Short curves, whose ends are near each other. Mean distances are about 6 +- 3 pixels. Those of
  // 1000 images per class differ by less than 4 standard errors plus the half pixel that a mismatch
  // of one pixel leaves.
  const auto mean_distances = [](const PathfinderOptions& options) {
    std::array<double, 2> sums{};
    std::array<double, 2> counts{};
    for (const auto& scene : drawn_scenes(tasks::resolved(options), 2000)) {
      const std::size_t k = scene.joined ? 1 : 0;
      sums[k] += length_between(scene.markers[0], scene.markers[1]);
      ++counts[k];
    }
    return std::array{sums[0] / counts[0], sums[1] / counts[1]};
  };
  const auto matched = mean_distances({.contour = 6, .distractors = 0});
  EXPECT_NEAR(matched[0], matched[1], 1);
  const auto any = mean_distances({.contour = 6, .distractors = 0, .mismatch = 64});
  EXPECT_GT(std::abs(any[0] - any[1]), 1);
}

TEST(Pathfinder, AHandDrawnSceneIsRendered) {
  // A horizontal dash 4 pixels long and 2 thick in the middle of rows 4 and 5, and a marker that
  // fills pixel (12, 12) and nearly half of its neighbors.
  const PathfinderOptions options = tasks::resolved({.side = 16, .thickness = 2});
  PathfinderScene scene;
  scene.curves = {{{{4, 5}, {8, 5}}}};
  scene.markers = {Point{12.5, 12.5}, Point{12.5, 12.5}};
  const auto image = tasks::render(options, scene);
  const auto at = [&](std::size_t row, std::size_t column) { return image[16 * row + column]; };
  for (std::size_t column = 4; column < 8; ++column) {
    EXPECT_DOUBLE_EQ(at(4, column), 0.75);
    EXPECT_DOUBLE_EQ(at(5, column), 0.75);
    EXPECT_DOUBLE_EQ(at(3, column), 0);
    EXPECT_DOUBLE_EQ(at(6, column), 0);
  }
  // Round ends of radius 1: each pixel contains a quarter of the disc, pi/4 = 0.785 of its area.
  EXPECT_NEAR(at(4, 3), 0.75 * M_PI / 4, 0.75 * 0.05);
  EXPECT_NEAR(at(5, 8), 0.75 * M_PI / 4, 0.75 * 0.05);
  EXPECT_DOUBLE_EQ(at(4, 2), 0);
  EXPECT_DOUBLE_EQ(at(12, 12), 1);
  // The disc of radius 1.5 has an area of 7.07 pixels.
  double area = 0;
  for (std::size_t row = 10; row < 16; ++row) {
    for (std::size_t column = 10; column < 16; ++column) area += at(row, column);
  }
  EXPECT_NEAR(area, M_PI * 1.5 * 1.5, 0.2);
}

TEST(Pathfinder, PixelsAreIdsOrValues) {
  const auto ids = tasks::pathfinder_task({.contour = 6}, 9);
  const auto values = tasks::pathfinder_task({.contour = 6, .pixels = tasks::Pixels::kValues}, 9);
  EXPECT_EQ(ids->shape().vocabulary, 256);
  EXPECT_EQ(values->shape().features, 1);
  const Sample a = sample_of(*ids, Split::kTest, 1);
  const Sample b = sample_of(*values, Split::kTest, 1);
  EXPECT_EQ(a.label, b.label);
  ASSERT_EQ(a.tokens.size(), b.features.size());
  for (std::size_t t = 0; t < a.tokens.size(); ++t) {
    EXPECT_EQ(static_cast<float>(a.tokens[t]) / 255.0F, b.features[t]);
  }
}

/// The pixels that only a marker makes white form two discs around the marked pixels.
TEST(Pathfinder, MarkedTokensAreTheMarkersCenters) {
  const auto task = tasks::pathfinder_task({.contour = 6}, 9);
  ASSERT_EQ(task->image_width(), 32);
  for (Index i = 0; i < 20; ++i) {
    const Sample sample = sample_of(*task, Split::kTest, i);
    const std::vector<Index> marked = task->marked_tokens(Split::kTest, i);
    ASSERT_EQ(marked.size(), 2U);
    EXPECT_LT(marked[0], marked[1]);
    std::vector<Index> near;
    for (Index t = 0; t < 32 * 32; ++t) {
      if (sample.tokens[static_cast<std::size_t>(t)] != 255) continue;
      std::vector<double> distances;
      for (const Index m : marked)
        distances.push_back(std::hypot(t % 32 - m % 32, t / 32 - m / 32));
      EXPECT_LT(std::min(distances[0], distances[1]), 2);
      near.push_back(t);
    }
    for (const Index m : marked) EXPECT_THAT(near, testing::Contains(m));
    EXPECT_NE(marked, task->marked_tokens(Split::kTrain, i));
  }
}

TEST(Pathfinder, SaysWhenTheCurvesDoNotFit) {
  const auto task = tasks::pathfinder_task({.side = 16, .contour = 60}, 9);
  Sample sample;
  try {
    task->make(Split::kTrain, 0, sample);
    FAIL() << "no refusal";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("did not fit into 16 x 16 pixels"));
  }
}

}  // namespace
}  // namespace matapprox::test
