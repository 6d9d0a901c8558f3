#include "matapprox/tasks/pathfinder.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "tasks/fitted_baselines.hpp"
#include "tasks/pathfinder_scene.hpp"

namespace matapprox::tasks {
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

class Pathfinder final : public Task {
 public:
  Pathfinder(const PathfinderOptions& options, std::uint64_t seed)
      : options_(options), seed_(seed) {
    validate_pathfinder(options);
    options_ = resolved(options);
    shape_.length = options.side * options.side;
    shape_.features = options.pixels == Pixels::kValues ? 1 : 0;
    shape_.vocabulary = options.pixels == Pixels::kIds ? 256 : 0;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

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
  std::uint64_t seed_;
  TaskShape shape_;
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
