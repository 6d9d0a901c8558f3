#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "attention/tasks/fitted_baselines.hpp"
#include "attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::tasks {
namespace {

constexpr double kRadiansADegree = 0.017453292519943295;
constexpr int kTurnsTried = 8;     // for the next dash
constexpr int kStartsTried = 300;  // for a curve

Point ahead(Point p, Point direction, double length) {
  return {p.x + length * direction.x, p.y + length * direction.y};
}

/// The direction turned by 2 arctan t, without sine and cosine, whose last bit depends on the
/// machine.
Point turned(Point direction, double t) {
  const double scale = 1 / (1 + t * t);
  const double cosine = (1 - t * t) * scale;
  const double sine = 2 * t * scale;
  return {direction.x * cosine - direction.y * sine, direction.x * sine + direction.y * cosine};
}

class SceneDrawing {
 public:
  SceneDrawing(const PathfinderOptions& options, SampleDraws& draws)
      : options_(options),
        draws_(draws),
        margin_(options.marker_radius + 0.5),
        far_(static_cast<double>(options.side) - margin_),
        half_turn_(std::tan(options.max_turn / 2 * kRadiansADegree)) {}

  /// Adds a curve of `dashes` dashes that keeps clear of all others.
  bool add_curve(Index dashes) {
    for (int start = 0; start < kStartsTried; ++start) {
      DashedCurve curve;
      if (!grow(dashes, curve)) continue;
      curves_.push_back(std::move(curve));
      return true;
    }
    return false;
  }

  std::vector<DashedCurve>& curves() { return curves_; }

 private:
  double between(double low, double high) { return low + (high - low) * draws_.uniform(); }

  bool grow(Index dashes, DashedCurve& curve) {
    Point at{between(margin_, far_), between(margin_, far_)};
    Point direction = draw_direction();
    for (Index k = 0; k < dashes; ++k) {
      if (!add_dash(curve, at, direction, k == 0 ? 0 : options_.gap)) return false;
    }
    return true;
  }

  /// Uniform on the circle, by rejection from the square.
  Point draw_direction() {
    for (;;) {
      const Point p{between(-1, 1), between(-1, 1)};
      const double length = std::sqrt(squared_distance(p, Point{}));
      if (length > 0.01 && length < 1) return {p.x / length, p.y / length};
    }
  }

  /// Adds the next dash of a curve whose last one ends at `at`; updates `at` and `direction`.
  bool add_dash(DashedCurve& curve, Point& at, Point& direction, double gap) {
    for (int k = 0; k < kTurnsTried; ++k) {
      const Point there = turned(direction, between(-half_turn_, half_turn_));
      const Point from = ahead(at, there, gap);
      const Dash dash{from, ahead(from, there, options_.dash)};
      if (!has_room(dash, curve)) continue;
      curve.push_back(dash);
      at = dash.to;
      direction = there;
      return true;
    }
    return false;
  }

  bool has_room(const Dash& dash, const DashedCurve& own) const {
    if (std::min(dash.to.x, dash.to.y) < margin_ || std::max(dash.to.x, dash.to.y) > far_) {
      return false;
    }
    // The previous dash is only the gap away.
    const std::size_t before = own.empty() ? 0 : own.size() - 1;
    return is_clear(dash, std::span(own).first(before)) &&
           std::all_of(curves_.begin(), curves_.end(), [&](const DashedCurve& curve) {
             return is_clear(dash, curve);
           });
  }

  bool is_clear(const Dash& dash, std::span<const Dash> others) const {
    const double near = options_.spacing * options_.spacing;
    // Dashes that begin farther from each other than this are clear whatever their directions.
    const double reach = options_.spacing + 2 * options_.dash;
    return std::all_of(others.begin(), others.end(), [&](const Dash& other) {
      return squared_distance(dash.from, other.from) >= reach * reach ||
             squared_distance(dash, other) >= near;
    });
  }

  const PathfinderOptions& options_;
  SampleDraws& draws_;
  double margin_;     // margin of the image, with room for a marker
  double far_;        // the margin on the other side
  double half_turn_;  // tangent of half of the largest turn
  std::vector<DashedCurve> curves_;
};

double distance(const std::array<Point, 2>& points) {
  return std::sqrt(squared_distance(points[0], points[1]));
}

Point end_of(const DashedCurve& curve, bool last) {
  return last ? curve.back().to : curve.front().from;
}

/// Two pairs of marker positions, about equally far apart: the ends of a long curve, and an end of
/// each.
struct MarkerPlaces {
  std::array<Point, 2> joined;
  std::array<Point, 2> apart;
};

/// Draws one of the possible pairs of positions, all equally likely; nothing if there is none, or
/// if markers on two of the four ends would touch.
std::optional<MarkerPlaces> draw_places(const PathfinderOptions& options,
                                        const std::vector<DashedCurve>& curves,
                                        SampleDraws& draws) {
  const double least = 2 * options.marker_radius + 1;
  std::vector<MarkerPlaces> places;
  for (int k = 0; k < 4; ++k) {
    const std::array apart{end_of(curves[0], k / 2 == 1), end_of(curves[1], k % 2 == 1)};
    const double apart_by = distance(apart);
    if (apart_by < least) return {};
    for (std::size_t c = 0; c < 2; ++c) {
      const std::array joined{end_of(curves[c], false), end_of(curves[c], true)};
      const double joined_by = distance(joined);
      if (joined_by < least) return {};
      if (std::abs(joined_by - apart_by) <= options.mismatch) places.push_back({joined, apart});
    }
  }
  if (places.empty()) return {};
  return places[static_cast<std::size_t>(draws.index(static_cast<Index>(places.size())))];
}

/// Brightens the pixels around `shape` to `brightness` times their share within `radius` of it.
template <class Shape>
void brighten(std::vector<double>& image,
              const PathfinderOptions& options,
              const Shape& shape,
              Point low,
              Point high,
              double radius,
              double brightness) {
  const Index samples = options.antialias;
  const auto pixel = [&](double x) {
    return std::clamp(static_cast<Index>(std::floor(x)), Index{0}, options.side - 1);
  };
  const auto inside = [&](Index pixel_index, Index sample) {
    return static_cast<double>(pixel_index) +
           (static_cast<double>(sample) + 0.5) / static_cast<double>(samples);
  };
  for (Index row = pixel(low.y - radius); row <= pixel(high.y + radius); ++row) {
    for (Index column = pixel(low.x - radius); column <= pixel(high.x + radius); ++column) {
      Index hits = 0;
      for (Index s = 0; s < samples * samples; ++s) {
        const Point p{inside(column, s % samples), inside(row, s / samples)};
        hits += squared_distance(p, shape) <= radius * radius ? 1 : 0;
      }
      double& value = image[static_cast<std::size_t>(row * options.side + column)];
      const double share = static_cast<double>(hits) / static_cast<double>(samples * samples);
      value = std::max(value, brightness * share);
    }
  }
}

}  // namespace

double squared_distance(Point a, Point b) {
  const double dx = a.x - b.x;
  const double dy = a.y - b.y;
  return dx * dx + dy * dy;
}

double squared_distance(Point p, const Dash& dash) {
  const double dx = dash.to.x - dash.from.x;
  const double dy = dash.to.y - dash.from.y;
  const double along = ((p.x - dash.from.x) * dx + (p.y - dash.from.y) * dy) / (dx * dx + dy * dy);
  const double t = std::clamp(along, 0.0, 1.0);
  return squared_distance(p, Point{dash.from.x + t * dx, dash.from.y + t * dy});
}

double squared_distance(const Dash& a, const Dash& b) {
  return std::min({squared_distance(a.from, b),
                   squared_distance(a.to, b),
                   squared_distance(b.from, a),
                   squared_distance(b.to, a)});
}

PathfinderOptions resolved(PathfinderOptions options) {
  if (options.distractor_length == 0)
    options.distractor_length = std::max<Index>(options.contour / 3, 1);
  if (options.distractors < 0) options.distractors = 20 / options.distractor_length;
  return options;
}

std::optional<PathfinderScene> draw_scene(const PathfinderOptions& options, SampleDraws& draws) {
  SceneDrawing drawing(options, draws);
  if (!drawing.add_curve(options.contour) || !drawing.add_curve(options.contour)) return {};
  const auto places = draw_places(options, drawing.curves(), draws);
  if (!places) return {};
  for (Index k = 0; k < options.distractors; ++k) {
    if (!drawing.add_curve(options.distractor_length)) return {};
  }
  const bool joined = draws.symbol(2) == 1;
  return PathfinderScene{
      std::move(drawing.curves()), joined ? places->joined : places->apart, joined};
}

std::vector<double> render(const PathfinderOptions& options, const PathfinderScene& scene) {
  std::vector<double> image(static_cast<std::size_t>(options.side * options.side));
  for (const DashedCurve& curve : scene.curves) {
    for (const Dash& dash : curve) {
      const Point low{std::min(dash.from.x, dash.to.x), std::min(dash.from.y, dash.to.y)};
      const Point high{std::max(dash.from.x, dash.to.x), std::max(dash.from.y, dash.to.y)};
      brighten(image, options, dash, low, high, options.thickness / 2, options.contrast);
    }
  }
  for (const Point& marker : scene.markers) {
    brighten(image, options, marker, marker, marker, options.marker_radius, 1);
  }
  return image;
}

namespace {

constexpr Index kPathfinderAttempts = 1000;

void require_pathfinder(std::string_view option, double value, double least, double most) {
  require_within("pathfinder", option, value, least, most);
}

void validate_pathfinder(const PathfinderOptions& o) {
  require_pathfinder("side", static_cast<double>(o.side), 16, 1024);
  require_pathfinder("contour", static_cast<double>(o.contour), 2, 1024);
  require_pathfinder("distractors", static_cast<double>(o.distractors), -1, 1024);
  require_pathfinder("distractor_length", static_cast<double>(o.distractor_length), 0, 1024);
  require_pathfinder("dash", o.dash, 0.5, 64);
  require_pathfinder("gap", o.gap, 0, 64);
  require_pathfinder("thickness", o.thickness, 0.1, 64);
  require_pathfinder("marker_radius", o.marker_radius, 1, 16);
  require_pathfinder("contrast", o.contrast, 0.1, 0.95);
  require_pathfinder("max_turn", o.max_turn, 0, 90);
  require_pathfinder("mismatch", o.mismatch, 0.05, 2 * static_cast<double>(o.side));
  require_pathfinder("antialias", static_cast<double>(o.antialias), 1, 16);
  // Nearer curves would touch markers, or cross, or look like one curve.
  const double least = std::max({o.marker_radius + o.thickness / 2, o.dash / 2, o.gap});
  require_pathfinder("spacing", o.spacing, least, static_cast<double>(o.side));
}

class Pathfinder final : public DrawnTask {
 public:
  Pathfinder(const PathfinderOptions& options, std::uint64_t seed)
      : DrawnTask(seed), options_(options) {
    validate_pathfinder(options);
    options_ = resolved(options);
    shape_.length = options.side * options.side;
    shape_.features = options.pixels == Pixels::kValues ? 1 : 0;
    shape_.vocabulary = options.pixels == Pixels::kIds ? 256 : 0;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
  }

  void make(Split split, Index i, Sample& sample) const override {
    clear(sample);
    const PathfinderScene scene = draw(split, i);
    sample.label = scene.joined ? 1 : 0;
    for (const double brightness : render(options_, scene)) {
      const auto level = static_cast<std::int32_t>(std::lround(255 * brightness));
      if (shape_.vocabulary > 0) {
        sample.tokens.push_back(level);
      } else {
        sample.features.push_back(static_cast<float>(level) / 255.0F);
      }
    }
  }

  Index image_width() const override { return options_.side; }

  std::vector<Index> marked_tokens(Split split, Index i) const override {
    std::vector<Index> pixels;
    for (const Point& marker : draw(split, i).markers) {
      pixels.push_back(static_cast<Index>(marker.y) * options_.side + static_cast<Index>(marker.x));
    }
    std::sort(pixels.begin(), pixels.end());
    return pixels;
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    const std::array readers{CellReader{"distance of the markers",
                                        2 * options_.side,
                                        [this](const Sample& sample) { return spread(sample); }}};
    std::vector<Baseline> all{{"majority class", 0.5, 0}};
    all.push_back(fitted_baselines(*this, split, samples, readers).front());
    return all;
  }

 private:
  /// The largest distance, rounded down, of two pixels that are brighter than any dash.
  Index spread(const Sample& sample) const {
    const auto brightest_dash = static_cast<Index>(std::lround(255 * options_.contrast));
    std::vector<Point> bright;
    for (Index t = 0; t < shape_.length; ++t) {
      const auto at = static_cast<std::size_t>(t);
      const Index level = sample.features.empty()
                              ? sample.tokens[at]
                              : std::lround(255 * static_cast<double>(sample.features[at]));
      if (level <= brightest_dash) continue;
      const Index row = t / options_.side;
      bright.push_back({static_cast<double>(t % options_.side), static_cast<double>(row)});
    }
    double largest = 0;
    for (const Point& a : bright) {
      for (const Point& b : bright) largest = std::max(largest, squared_distance(a, b));
    }
    return static_cast<Index>(std::sqrt(largest));
  }

  PathfinderScene draw(Split split, Index i) const {
    for (Index attempt = 0; attempt < kPathfinderAttempts; ++attempt) {
      SampleDraws draws(seed_, split, i, attempt);
      auto scene = draw_scene(options_, draws);
      if (scene) return *std::move(scene);
    }
    throw InvalidArgument(fmt::format(
        "pathfinder: two curves of {} dashes and {} of {} did not fit into {} x {} pixels in {} "
        "attempts; use fewer or shorter curves, a smaller spacing, or a larger side",
        options_.contour,
        options_.distractors,
        options_.distractor_length,
        options_.side,
        options_.side,
        kPathfinderAttempts));
  }

  PathfinderOptions options_;
};

}  // namespace

void PathfinderOptions::visit(OptionVisitor& v) {
  v.visit("side", side, "side of the square image in pixels: N = side^2");
  v.visit("contour", contour, "number of dashes of each of the two long curves");
  v.visit("distractors", distractors, "number of short curves; -1: 20 / distractor_length");
  v.visit(
      "distractor_length", distractor_length, "number of dashes of a short curve; 0: contour / 3");
  v.visit("dash", dash, "length of a dash in pixels");
  v.visit("gap", gap, "gap between two dashes of a curve in pixels");
  v.visit("thickness", thickness, "thickness of a dash in pixels");
  v.visit("marker_radius", marker_radius, "radius of a marker in pixels");
  v.visit("contrast", contrast, "brightness of a dash, below that of the markers, 1");
  v.visit("max_turn", max_turn, "maximum turn from one dash to the next in degrees");
  v.visit("spacing", spacing, "smallest distance of two curves in pixels");
  v.visit("mismatch",
          mismatch,
          "maximum difference between the distances of joined and of separate markers in pixels; 2 "
          "side: any");
  v.visit("antialias", antialias, "samples per pixel in each direction");
  v.visit_enum("pixels", pixels, "token ids 0..255, or values 0..1 as one feature");
}

std::unique_ptr<Task> pathfinder_task(const PathfinderOptions& options, std::uint64_t seed) {
  return std::make_unique<Pathfinder>(options, seed);
}

}  // namespace matapprox::tasks
