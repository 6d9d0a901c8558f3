#include "matapprox/tasks/adding.hpp"

#include "tasks/position_pairs.hpp"

namespace matapprox::tasks {
namespace {

constexpr double kAddingTolerance = 0.04;

class Adding final : public Task {
 public:
  Adding(const AddingOptions& options, std::uint64_t seed)
      : pairs_("adding", options.length, options.min_gap, options.max_gap), seed_(seed) {
    shape_.length = options.length;
    shape_.features = 2;
    shape_.answer = Answer::kNumber;
    shape_.tolerance = kAddingTolerance;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    const auto length = static_cast<std::size_t>(shape_.length);
    sample.features.resize(2 * length);
    const auto [first, second] = pairs_.draw(draws);
    for (std::size_t t = 0; t < length; ++t) {
      sample.features[2 * t] =
          static_cast<float>((static_cast<double>(draws.word()) + 0.5) * 0x1p-31 - 1.0);
      sample.features[2 * t + 1] = 0;
    }
    sample.number = 0.5;
    for (const Index t : {first, second}) {
      const auto row = 2 * static_cast<std::size_t>(t);
      sample.features[row + 1] = 1;
      sample.number += static_cast<double>(sample.features[row]) / 4;
    }
  }

  // s = y - 1/2 = (a_t + a_u) / 4 has the density 2 - 4 |s| on (-1/2, 1/2), highest at 0. So 1/2
  // is the best constant, wrong with probability P(|s| >= tau) = (1 - 2 tau)^2 = 0.8464, and the
  // variance of s is (1/3 + 1/3) / 16 = 1/24. A predictor that reads the first token finds it
  // marked in a share p of the samples. It then knows one of the two numbers; the other is uniform,
  // and P(|a / 4| >= tau) = 1 - 4 tau.
  std::vector<Baseline> baselines(Split /*split*/, Index /*samples*/) const override {
    constexpr double kConstant = (1 - 2 * kAddingTolerance) * (1 - 2 * kAddingTolerance);
    const double p = pairs_.share_of_first();
    return {{"constant 0.5, mean squared error 1/24", kConstant, 0},
            {"first token", (1 - p) * kConstant + p * (1 - 4 * kAddingTolerance), 0}};
  }

 private:
  PositionPairs pairs_;
  std::uint64_t seed_;
  TaskShape shape_;
};

}  // namespace

void AddingOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of a sequence in tokens");
  v.visit("min_gap", min_gap, "smallest distance of the two marked positions");
  v.visit("max_gap", max_gap, "largest distance of the two marked positions; 0: N - 1");
}

std::unique_ptr<Task> adding_task(const AddingOptions& options, std::uint64_t seed) {
  return std::make_unique<Adding>(options, seed);
}

}  // namespace matapprox::tasks
