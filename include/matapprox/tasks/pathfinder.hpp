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
  Index side = 32;              ///< of the square image: N = side^2; 16..1024
  Index contour = 14;           ///< dashes of each of the two long curves, 2..1024
  Index distractors = -1;       ///< short curves; -1: 20 / distractor_length
  Index distractor_length = 0;  ///< dashes of a short curve; 0: contour / 3
  double dash = 2;              ///< length of a dash
  double gap = 1;               ///< between two dashes of a curve
  double thickness = 0.5;       ///< of a dash
  double marker_radius = 1.5;
  double contrast = 0.75;  ///< brightness of a dash, 0..1; markers have 1
  double max_turn = 40;    ///< degrees from one dash to the next, 0..90
  double spacing = 2.25;   ///< least distance of two curves, and of a curve from itself
  double mismatch = 1;     ///< 0.05..2 side, see below
  Index antialias = 4;     ///< samples each way in a pixel, 1..16
  Pixels pixels = Pixels::kIds;
  void visit(OptionVisitor& v);
};

/// Pathfinder: does a dashed curve join the two markers of an image? [LKV+18] A renderer of our
/// own with the sizes of the Long Range Arena [TDA+21] (contours of 6, 9 and 14 dashes): like in
/// kind, so never to be compared with its numbers.
///
/// Two long curves, then short ones; no two come nearer to each other than `spacing`, nor does a
/// curve to itself. The markers are discs, on both ends of a long curve (class 1) or on an end of
/// each (class 0), as likely. Both places are chosen before the class is, with distances that
/// differ by `mismatch` at most: else joined markers would be near, and with contours of 6 that
/// alone would tell 88 % of the images. The sequence is the rows of the image, one below the
/// other: ids 0..255, or one feature 0..1 with `pixels` = values. About 0.5 ms a sample.
/// Throws InvalidArgument for options outside their range, and in make if the curves do not fit
/// into the image.
std::unique_ptr<Task> pathfinder_task(const PathfinderOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
