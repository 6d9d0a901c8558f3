#include "matapprox/tasks/matching.hpp"

#include <algorithm>
#include <array>

#include "tasks/draws.hpp"
#include "tasks/fitted_baselines.hpp"

namespace matapprox::tasks {
namespace {

constexpr std::int32_t kTextStart = 0;
constexpr std::int32_t kTextSeparator = 1;
constexpr std::int32_t kFirstKey = 2;

class Matching final : public Task {
 public:
  Matching(const MatchingOptions& options, std::uint64_t seed) : options_(options), seed_(seed) {
    constexpr Index kMaxKeys = 1024;
    constexpr Index kMaxWords = 32768;
    require_within("matching", "keys", options.keys, Index{2}, kMaxKeys);
    require_within("matching", "words", options.words, 2 * options.keys - 1, kMaxWords);
    require_within("matching", "fillers", options.fillers, Index{1}, kMaxWords);
    require_length("matching", options.length, 2 * options.keys + 2);
    require(options.length % 2 == 0,
            "matching: length {} is odd; the two texts must have the same length",
            options.length);
    shape_.length = options.length;
    shape_.vocabulary = kFirstKey + options.words + options.fillers;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    // Distinct key words, the first of which occurs twice.
    const std::vector<std::int32_t> keys =
        draw_different(kFirstKey, options_.words, 2 * options_.keys - 1, draws);
    const auto count = static_cast<std::size_t>(options_.keys);
    sample.label = draws.symbol(2);
    std::array<std::vector<std::int32_t>, 2> texts;
    if (sample.label == 1) {
      texts[0].push_back(keys[0]);
      texts[1].push_back(keys[0]);
    } else {
      texts[static_cast<std::size_t>(draws.symbol(2))].assign(2, keys[0]);
    }
    auto next = keys.begin() + 1;
    for (std::vector<std::int32_t>& text : texts)
      while (text.size() < count) text.push_back(*next++);
    const auto words = static_cast<std::int32_t>(options_.words);
    const auto fillers = static_cast<std::int32_t>(options_.fillers);
    const auto half = static_cast<std::size_t>(shape_.length / 2 - 1);
    sample.tokens.resize(static_cast<std::size_t>(shape_.length));
    for (std::int32_t& token : sample.tokens) token = kFirstKey + words + draws.symbol(fillers);
    sample.tokens[0] = kTextStart;
    sample.tokens[half + 1] = kTextSeparator;
    place(texts[0], 1, half, draws, sample);
    place(texts[1], half + 2, half, draws, sample);
  }

  std::vector<Baseline> baselines(Split /*split*/, Index samples) const override {
    require(samples >= 1, "baselines: samples {} is below 1", samples);
    // 3 of 4 texts have no repeated key word, and 2 of 3 of these are of class 1.
    return {{"majority class", 0.5, 0},
            {"first token", 0.5, 0},
            {"bag of words", 0.5, 0},
            {"one of the texts alone", 0.25, 0}};
  }

 private:
  /// Puts the key words at some of the `places` positions from `begin` on; all positions and orders
  /// are equally likely.
  static void place(std::vector<std::int32_t>& keys,
                    std::size_t begin,
                    std::size_t places,
                    SampleDraws& draws,
                    Sample& sample) {
    auto left = static_cast<Index>(keys.size());
    for (std::size_t t = 0; left > 0; ++t) {
      if (draws.index(static_cast<Index>(places - t)) >= left) continue;
      std::swap(keys[static_cast<std::size_t>(left - 1)],
                keys[static_cast<std::size_t>(draws.index(left))]);
      sample.tokens[begin + t] = keys[static_cast<std::size_t>(left - 1)];
      --left;
    }
  }

  MatchingOptions options_;
  std::uint64_t seed_;
  TaskShape shape_;
};

}  // namespace

void MatchingOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of both texts with start token and separator, in tokens");
  v.visit("keys", keys, "number of key words in each text");
  v.visit("words", words, "number of different key words");
  v.visit("fillers", fillers, "number of different other words");
}

std::unique_ptr<Task> matching_task(const MatchingOptions& options, std::uint64_t seed) {
  return std::make_unique<Matching>(options, seed);
}

}  // namespace matapprox::tasks
