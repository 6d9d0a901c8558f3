#pragma once

#include <array>
#include <optional>
#include <vector>

#include "matapprox/tasks/pathfinder.hpp"
#include "tasks/draws.hpp"

namespace matapprox::tasks {

/// In pixels: x to the right, y down, the image is [0, side]^2.
struct Point {
  double x = 0;
  double y = 0;
};

struct Dash {
  Point from;
  Point to;
};

using DashedCurve = std::vector<Dash>;

/// What an image shows.
struct PathfinderScene {
  std::vector<DashedCurve> curves;  ///< the two long ones first
  std::array<Point, 2> markers;
  bool joined = false;  ///< the markers are the ends of one curve
};

double squared_distance(Point a, Point b);
double squared_distance(Point p, const Dash& dash);
/// Of two dashes that do not cross.
double squared_distance(const Dash& a, const Dash& b);

/// Options with the numbers in the place of the signs for "default".
PathfinderOptions resolved(PathfinderOptions options);

/// Tries to draw a scene, from resolved options; nothing if a curve finds no room
/// or the four ends allow no fair pair of places for the markers.
std::optional<PathfinderScene> draw_scene(const PathfinderOptions& options, SampleDraws& draws);

/// side x side brightnesses 0..1, row by row: the share of samples of a pixel that are on a dash
/// or a marker, times its brightness, the largest of all.
std::vector<double> render(const PathfinderOptions& options, const PathfinderScene& scene);

}  // namespace matapprox::tasks
