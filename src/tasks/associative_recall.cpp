#include "matapprox/tasks/associative_recall.hpp"

#include "tasks/draws.hpp"
#include "tasks/fitted_baselines.hpp"

namespace matapprox::tasks {
namespace {

class AssociativeRecall final : public Task {
 public:
  AssociativeRecall(const AssociativeRecallOptions& options, std::uint64_t seed)
      : pairs_(options.pairs), keys_(options.keys), seed_(seed) {
    require_length("associative_recall", options.length, 3);
    const Index most = (options.length - 1) / 2;
    require(options.pairs >= 0 && options.pairs <= most,
            "associative_recall: pairs {} is outside 1..{}, the maximum for length {} (0: that "
            "maximum)",
            options.pairs,
            most,
            options.length);
    if (pairs_ == 0) pairs_ = most;
    require(keys_ >= pairs_ && keys_ <= kMaxLength,
            "associative_recall: keys {} is outside {}..{}; the keys of a sample's {} pairs differ",
            keys_,
            pairs_,
            kMaxLength,
            pairs_);
    require_symbols("associative_recall", "values", options.values);
    shape_.length = options.length;
    shape_.vocabulary = options.values + keys_ + 1;
    shape_.answer = Answer::kClass;
    shape_.classes = options.values;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    const auto values = static_cast<std::int32_t>(shape_.classes);
    sample.tokens.assign(static_cast<std::size_t>(shape_.length),
                         static_cast<std::int32_t>(shape_.vocabulary - 1));
    const std::vector<std::int32_t> keys = draw_different(values, keys_, pairs_, draws);
    const Index asked = draws.index(pairs_);
    // Chooses pairs_ of the sequence's slots, all subsets equally likely: a slot is taken with
    // probability (pairs to place) / (slots left). A pair is two tokens and one slot.
    Index placed = 0;
    std::size_t t = 0;
    for (Index left = shape_.length - 1 - pairs_; placed < pairs_; --left, ++t) {
      if (draws.index(left) >= pairs_ - placed) continue;
      const std::int32_t key = keys[static_cast<std::size_t>(placed)];
      const std::int32_t value = draws.symbol(values);
      if (placed == asked) {
        sample.tokens.back() = key;
        sample.label = value;
      }
      sample.tokens[t] = key;
      sample.tokens[++t] = value;
      ++placed;
    }
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    const auto wrong = [this](const Sample& sample) {
      std::vector<std::int32_t> values;
      for (const std::int32_t token : sample.tokens) {
        if (token < shape_.classes) values.push_back(token);
      }
      return 1 - static_cast<double>(largest_count(values)) / static_cast<double>(pairs_);
    };
    return {{"majority class", 1 - 1 / static_cast<double>(shape_.classes), 0},
            measured_baseline("most frequent value of the sample", *this, split, samples, wrong)};
  }

 private:
  Index pairs_;
  Index keys_;
  std::uint64_t seed_;
  TaskShape shape_;
};

}  // namespace

void AssociativeRecallOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of a sequence in tokens");
  v.visit("pairs", pairs, "number of pairs of a key and a value; 0: as many as fit");
  v.visit("keys", keys, "number of different keys, at least the number of pairs");
  v.visit("values", values, "number of different values, which are the classes");
}

std::unique_ptr<Task> associative_recall_task(const AssociativeRecallOptions& options,
                                              std::uint64_t seed) {
  return std::make_unique<AssociativeRecall>(options, seed);
}

}  // namespace matapprox::tasks
