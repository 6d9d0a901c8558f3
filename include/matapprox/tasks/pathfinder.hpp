#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

enum class Pixels { kIds, kValues };

}  // namespace matapprox::tasks

namespace matapprox {

template <>
struct EnumNames<tasks::Pixels> {
  static constexpr std::array<std::string_view, 2> values{"ids", "values"};
};

}  // namespace matapprox

namespace matapprox::tasks {

/// Lengths are in pixels.
struct PathfinderOptions {
  Index side = 32;              ///< side of the square image: N = side^2; 16..1024
  Index contour = 14;           ///< dashes of each of the two long curves, 2..1024
  Index distractors = -1;       ///< number of short curves; -1: 20 / distractor_length
  Index distractor_length = 0;  ///< dashes of a short curve; 0: contour / 3
  double dash = 2;              ///< length of a dash
  double gap = 1;               ///< between two dashes of a curve
  double thickness = 0.5;       ///< thickness of a dash
  double marker_radius = 1.5;
  double contrast = 0.75;  ///< brightness of a dash, 0..1; markers have 1
  double max_turn = 40;    ///< degrees from one dash to the next, 0..90
  double spacing = 2.25;   ///< smallest distance of two curves, and of a curve from itself
  double mismatch = 1;     ///< 0.05..2 `side`, see below
  Index antialias = 4;     ///< samples per pixel in each direction, 1..16
  Pixels pixels = Pixels::kIds;
  void visit(OptionVisitor& v);
};

/// Pathfinder: does a dashed curve join the two markers of an image? [LKV+18] A separate renderer
/// with the sizes of the Long Range Arena [TDA+21] (contours of 6, 9 and 14 dashes): similar in
/// kind only, so results must not be compared with the arena's.
///
/// There are two long curves and then short ones; neither two curves nor two parts of one curve
/// come closer than `spacing`. The markers are discs, on both ends of a long curve (class 1) or on
/// one end of each (class 0), with equal probability. Both placements are chosen before the class,
/// with distances that differ by at most `mismatch`: otherwise joined markers would be close
/// together, and with contours of 6 this alone would classify 88 % of the images. The sequence
/// consists of the rows of the image in order: ids 0..255, or one feature 0..1 with `pixels` =
/// values. About 0.5 ms per sample. Throws InvalidArgument for options outside their range, and in
/// make if the curves do not fit into the image.
std::unique_ptr<Task> pathfinder_task(const PathfinderOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
