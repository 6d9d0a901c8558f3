#pragma once

#include <array>
#include <optional>
#include <vector>

#include "matapprox/tasks/pathfinder.hpp"
#include "tasks/draws.hpp"

namespace matapprox::tasks {

/// A point in pixels, x to the right and y down; the image is [0, side]^2.
struct Point {
  double x = 0;
  double y = 0;
};

struct Dash {
  Point from;
  Point to;
};

using DashedCurve = std::vector<Dash>;

/// Content of an image.
struct PathfinderScene {
  std::vector<DashedCurve> curves;  ///< the two long ones first
  std::array<Point, 2> markers;
  bool joined = false;  ///< the markers are the ends of one curve
};

double squared_distance(Point a, Point b);
double squared_distance(Point p, const Dash& dash);
/// Requires two dashes that do not cross.
double squared_distance(const Dash& a, const Dash& b);

/// Options with numbers in place of the values that stand for "default".
PathfinderOptions resolved(PathfinderOptions options);

/// Tries to draw a scene from resolved options. Returns nothing if there is no room for a curve, or
/// if the four ends allow no fair pair of marker positions.
std::optional<PathfinderScene> draw_scene(const PathfinderOptions& options, SampleDraws& draws);

/// Brightnesses 0..1 of side x side pixels, by rows. A dash or marker gives a pixel its brightness
/// times the share of the pixel's samples that are on it; the largest of these values is taken.
std::vector<double> render(const PathfinderOptions& options, const PathfinderScene& scene);

}  // namespace matapprox::tasks
