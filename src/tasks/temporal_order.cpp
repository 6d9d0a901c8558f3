#include "matapprox/tasks/temporal_order.hpp"

#include "tasks/position_pairs.hpp"

namespace matapprox::tasks {
namespace {

constexpr std::int32_t kNoiseSymbols = 4;  // a, b, c, d

class TemporalOrder final : public Task {
 public:
  TemporalOrder(const TemporalOrderOptions& options, std::uint64_t seed)
      : pairs_("temporal_order", options.length, options.min_gap, options.max_gap), seed_(seed) {
    shape_.length = options.length;
    shape_.vocabulary = kNoiseSymbols + 2;
    shape_.answer = Answer::kClass;
    shape_.classes = 4;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    const auto [first, second] = pairs_.draw(draws);
    sample.label = draws.symbol(4);
    sample.tokens.resize(static_cast<std::size_t>(shape_.length));
    for (std::int32_t& token : sample.tokens) token = draws.symbol(kNoiseSymbols);
    sample.tokens[static_cast<std::size_t>(first)] = kNoiseSymbols + sample.label / 2;
    sample.tokens[static_cast<std::size_t>(second)] = kNoiseSymbols + sample.label % 2;
  }

  // A predictor that reads the first token finds a signal in a share p of the samples, and is then
  // left with two classes. A predictor that counts the tokens, but does not know their order,
  // confuses XY and YX.
  std::vector<Baseline> baselines(Split /*split*/, Index /*samples*/) const override {
    const double p = pairs_.share_of_first();
    return {{"majority class", 0.75, 0},
            {"first token", (1 - p) * 0.75 + p * 0.5, 0},
            {"numbers of X and Y, not their order", 0.25, 0}};
  }

 private:
  PositionPairs pairs_;
  std::uint64_t seed_;
  TaskShape shape_;
};

}  // namespace

void TemporalOrderOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of a sequence in tokens");
  v.visit("min_gap", min_gap, "smallest distance of the two signals");
  v.visit("max_gap", max_gap, "largest distance of the two signals; 0: N - 1");
}

std::unique_ptr<Task> temporal_order_task(const TemporalOrderOptions& options, std::uint64_t seed) {
  return std::make_unique<TemporalOrder>(options, seed);
}

}  // namespace matapprox::tasks
