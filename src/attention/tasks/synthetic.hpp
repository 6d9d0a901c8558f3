#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attention/tasks/draws.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::tasks {

/// Pairs of positions t < u of a sequence with min_gap <= u - t <= max_gap, all equally likely.
class PositionPairs {
 public:
  /// max_gap 0: length - 1. Throws InvalidArgument, whose message begins with `who`, for a length
  /// below 2 or gaps that are not 1 <= min_gap <= max_gap < length.
  PositionPairs(std::string_view who, Index length, Index min_gap, Index max_gap);

  std::pair<Index, Index> draw(SampleDraws& draws) const;
  /// The probability that position 0 is in the pair.
  double share_of_first() const;

 private:
  /// Number of pairs with one of the `gaps` smallest gaps g: the sum of length - g.
  Index count(Index gaps) const;

  Index length_;
  Index min_gap_;
  Index gaps_ = 0;
};

/// Token ids of ListOps; digits are 0..9.
inline constexpr std::int32_t kListopsDigits = 10;
inline constexpr std::int32_t kListopsMin = 10;
inline constexpr std::int32_t kListopsMax = 11;
inline constexpr std::int32_t kListopsMed = 12;
inline constexpr std::int32_t kListopsSum = 13;
inline constexpr std::int32_t kListopsOperators = 4;
inline constexpr std::int32_t kListopsClose = 14;
inline constexpr std::int32_t kListopsPadding = 15;
inline constexpr Index kListopsDeepest = 32;

/// The value 0..9 of an operator on one or more digits, in any order; sorts them.
std::int32_t listops_apply(std::int32_t op, std::span<std::int32_t> digits);

/// The value of a tree; tokens after the tree are ignored.
std::int32_t listops_value(std::span<const std::int32_t> tokens);

/// The values of the root's children that are digits, in order.
std::vector<std::int32_t> listops_root_digits(std::span<const std::int32_t> tokens);

/// Random trees within given limits.
struct ListopsTrees {
  Index max_tokens = 0;  ///< trees with more tokens are rejected
  Index max_depth = 0;
  std::int32_t max_children = 0;
  /// Draws a tree in the order in which it is written. Returns false as soon as the tree is certain
  /// to have more than max_tokens; `tokens` is then incomplete.
  bool draw(SampleDraws& draws, std::vector<std::int32_t>& tokens) const;
};

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
