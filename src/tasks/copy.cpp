#include "matapprox/tasks/copy.hpp"

#include "tasks/draws.hpp"
#include "tasks/fitted_baselines.hpp"

namespace matapprox::tasks {
namespace {

class Copy final : public Task {
 public:
  Copy(const CopyOptions& options, std::uint64_t seed)
      : string_(static_cast<std::size_t>(options.string_length)), seed_(seed) {
    require_length("copy", options.length, 3);
    const Index longest = (options.length - 1) / 2;
    require(options.string_length >= 0 && options.string_length <= longest,
            "copy: string_length {} is outside 1..{}, the maximum for length {} (0: that maximum)",
            options.string_length,
            longest,
            options.length);
    require_symbols("copy", "symbols", options.symbols);
    if (string_ == 0) string_ = static_cast<std::size_t>(longest);
    shape_.length = options.length;
    shape_.vocabulary = options.symbols + 2;
    shape_.answer = Answer::kTokenClass;
    shape_.classes = options.symbols;
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    const auto length = static_cast<std::size_t>(shape_.length);
    const auto symbols = static_cast<std::int32_t>(shape_.classes);
    const std::int32_t blank = symbols;
    const std::int32_t delimiter = symbols + 1;
    sample.tokens.assign(length, blank);
    sample.labels.assign(length, -1);
    for (std::size_t t = 0; t < string_; ++t) {
      sample.tokens[t] = draws.symbol(symbols);
      sample.labels[length - string_ + t] = sample.tokens[t];
    }
    sample.tokens[length - string_ - 1] = delimiter;
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    const auto wrong_share = [this](const Sample& sample) {
      const auto string = std::span(sample.tokens).first(string_);
      return 1 - static_cast<double>(largest_count(string)) / static_cast<double>(string_);
    };
    return {{"majority class", 1 - 1 / static_cast<double>(shape_.classes), 0},
            measured_baseline(
                "most frequent symbol of the sample", *this, split, samples, wrong_share)};
  }

 private:
  std::size_t string_;
  std::uint64_t seed_;
  TaskShape shape_;
};

}  // namespace

void CopyOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of a sequence in tokens");
  v.visit("string_length", string_length, "number of symbols to copy; 0: as many as fit");
  v.visit("symbols", symbols, "number of different symbols");
}

std::unique_ptr<Task> copy_task(const CopyOptions& options, std::uint64_t seed) {
  return std::make_unique<Copy>(options, seed);
}

}  // namespace matapprox::tasks
