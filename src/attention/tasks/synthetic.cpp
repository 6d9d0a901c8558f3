#include "attention/tasks/synthetic.hpp"

#include <algorithm>
#include <array>

#include "attention/tasks/draws.hpp"
#include "attention/tasks/fitted_baselines.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::tasks {
// -------------------------------------------------------------------------------------- Adding

namespace {

constexpr double kAddingTolerance = 0.04;

class Adding final : public DrawnTask {
 public:
  Adding(const AddingOptions& options, std::uint64_t seed)
      : DrawnTask(seed), pairs_("adding", options.length, options.min_gap, options.max_gap) {
    shape_.length = options.length;
    shape_.features = 2;
    shape_.answer = Answer::kNumber;
    shape_.tolerance = kAddingTolerance;
  }

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

// ------------------------------------------------------------------------------ Temporal order

namespace {

constexpr std::int32_t kNoiseSymbols = 4;  // a, b, c, d

class TemporalOrder final : public DrawnTask {
 public:
  TemporalOrder(const TemporalOrderOptions& options, std::uint64_t seed)
      : DrawnTask(seed),
        pairs_("temporal_order", options.length, options.min_gap, options.max_gap) {
    shape_.length = options.length;
    shape_.vocabulary = kNoiseSymbols + 2;
    shape_.answer = Answer::kClass;
    shape_.classes = 4;
  }

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

// ---------------------------------------------------------------------------------------- Copy

namespace {

class Copy final : public DrawnTask {
 public:
  Copy(const CopyOptions& options, std::uint64_t seed)
      : DrawnTask(seed), string_(static_cast<std::size_t>(options.string_length)) {
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

// -------------------------------------------------------------------------- Associative recall

namespace {

class AssociativeRecall final : public DrawnTask {
 public:
  AssociativeRecall(const AssociativeRecallOptions& options, std::uint64_t seed)
      : DrawnTask(seed), pairs_(options.pairs), keys_(options.keys) {
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

// ------------------------------------------------------------------------------------ Matching

namespace {

constexpr std::int32_t kTextStart = 0;
constexpr std::int32_t kTextSeparator = 1;
constexpr std::int32_t kFirstKey = 2;

class Matching final : public DrawnTask {
 public:
  Matching(const MatchingOptions& options, std::uint64_t seed)
      : DrawnTask(seed), options_(options) {
    constexpr Index kMaxKeys = 1024;
    constexpr Index kMaxMatchingWords = 32768;
    require_within("matching", "keys", options.keys, Index{2}, kMaxKeys);
    require_within("matching", "words", options.words, 2 * options.keys - 1, kMaxMatchingWords);
    require_within("matching", "fillers", options.fillers, Index{1}, kMaxMatchingWords);
    require_length("matching", options.length, 2 * options.keys + 2);
    require(options.length % 2 == 0,
            "matching: length {} is odd; the two texts must have the same length",
            options.length);
    shape_.length = options.length;
    shape_.vocabulary = kFirstKey + options.words + options.fillers;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
  }

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

PositionPairs::PositionPairs(std::string_view who, Index length, Index min_gap, Index max_gap)
    : length_(length), min_gap_(min_gap) {
  require_length(who, length, 2);
  require(max_gap >= 0 && max_gap < length,
          "{}: max_gap {} is outside 1..{} (0: {})",
          who,
          max_gap,
          length - 1,
          length - 1);
  const Index largest = max_gap == 0 ? length - 1 : max_gap;
  require(min_gap >= 1 && min_gap <= largest,
          "{}: min_gap {} is outside 1..{}, the largest gap",
          who,
          min_gap,
          largest);
  gaps_ = largest - min_gap + 1;
}

Index PositionPairs::count(Index gaps) const {
  return gaps * (length_ - min_gap_) - gaps * (gaps - 1) / 2;
}

std::pair<Index, Index> PositionPairs::draw(SampleDraws& draws) const {
  // Pairs are numbered by gap, then by position; the gap of pair k is found by bisection.
  const Index k = draws.index(count(gaps_));
  Index low = 0;
  Index high = gaps_;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (count(middle) <= k ? low : high) = middle;
  }
  const Index first = k - count(low);
  return {first, first + min_gap_ + low};
}

double PositionPairs::share_of_first() const {
  return static_cast<double>(gaps_) / static_cast<double>(count(gaps_));
}

}  // namespace matapprox::tasks
