#include <algorithm>
#include <cmath>
#include <numeric>

#include "attention/tasks/draws.hpp"
#include "attention/tasks/fitted_baselines.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"

namespace matapprox::tasks {
namespace {

constexpr std::int32_t kStart = 0;
constexpr std::int32_t kNegation = 1;
constexpr std::int32_t kFirstWord = 2;
constexpr Index kMaxOpinions = 1024;
constexpr Index kMaxWords = 32768;

class Negation final : public DrawnTask {
 public:
  Negation(const NegationOptions& options, std::uint64_t seed)
      : DrawnTask(seed), options_(options) {
    check();
    shape_.length = options_.length;
    shape_.vocabulary = kFirstWord + 2 * options_.words + options_.fillers;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
  }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    const std::vector<Index> places = draw_places(draws);
    const std::size_t count = places.size();
    std::vector<int> opinions(count, -1);
    if (options_.balanced) {
      std::fill_n(opinions.begin(), count / 2, 1);
      shuffle(opinions, draws);
    } else {
      for (int& opinion : opinions) opinion = draws.symbol(2) == 1 ? 1 : -1;
    }
    std::vector<std::size_t> turned(count);
    std::iota(turned.begin(), turned.end(), std::size_t{0});
    shuffle(turned, draws);

    const auto words = static_cast<std::int32_t>(options_.words);
    const auto fillers = static_cast<std::int32_t>(options_.fillers);
    sample.tokens.resize(static_cast<std::size_t>(shape_.length));
    for (std::int32_t& token : sample.tokens)
      token = kFirstWord + 2 * words + draws.symbol(fillers);
    sample.tokens.front() = kStart;
    for (std::size_t k = 0; k < count; ++k) {
      sample.tokens[static_cast<std::size_t>(places[k])] =
          kFirstWord + (opinions[k] > 0 ? 0 : words) + draws.symbol(words);
    }
    int sum = std::accumulate(opinions.begin(), opinions.end(), 0);
    for (Index k = 0; k < options_.negations; ++k) {
      const std::size_t which = turned[static_cast<std::size_t>(k)];
      const Index room = places[which] - (which == 0 ? 0 : places[which - 1]) - 1;
      const Index most = options_.max_gap == 0 ? room : std::min(room, options_.max_gap);
      const Index gap = options_.min_gap + draws.index(most - options_.min_gap + 1);
      sample.tokens[static_cast<std::size_t>(places[which] - gap)] = kNegation;
      sum -= 2 * opinions[which];
    }
    sample.label = sum > 0 ? 1 : 0;
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    constexpr Index kNear = 8;
    return {{"majority class", 0.5, 0},
            {"first token", 0.5, 0},
            {"bag of words", bag_error(), 0},
            {"everything but the negations", bag_error(), 0},
            measured_baseline("the 8 tokens behind each negation",
                              *this,
                              split,
                              samples,
                              [this](const Sample& sample) { return wrong_within(sample, kNear); }),
            measured_baseline("the nearest opinion on either side of a negation",
                              *this,
                              split,
                              samples,
                              [this](const Sample& sample) { return wrong_of_nearest(sample); })};
  }

 private:
  void check() {
    const auto require_range = [](const char* name, Index value, Index least, Index most) {
      require_within("negation", name, value, least, most);
    };
    require_range("opinions", options_.opinions, 1, kMaxOpinions);
    require((options_.opinions % 2 == 0) == options_.balanced,
            "negation: opinions {} must be {}",
            options_.opinions,
            options_.balanced ? "even: half of them are good" : "odd, so that there is a majority");
    require_range("negations", options_.negations, 1, options_.opinions);
    require(!options_.balanced || options_.negations % 2 == 1,
            "negation: negations {} is even; balanced texts need an odd number, to avoid ties",
            options_.negations);
    require_range("words", options_.words, 1, kMaxWords);
    require_range("fillers", options_.fillers, 1, kMaxWords);
    require_range("min_gap", options_.min_gap, 1, kMaxLength);
    require(options_.max_gap == 0 || options_.max_gap >= options_.min_gap,
            "negation: max_gap {} is below min_gap {} (0: as far as there is room)",
            options_.max_gap,
            options_.min_gap);
    require_length("negation", options_.length, 1 + options_.opinions * (options_.min_gap + 1));
  }

  /// Error of a predictor that knows the number of good opinions; all are equally likely to be
  /// negated.
  double bag_error() const {
    if (options_.balanced) return 0.5;
    const Index n = options_.opinions;
    const auto log_choose = [](Index of, Index some) {
      return std::lgamma(of + 1.0) - std::lgamma(some + 1.0) - std::lgamma(of - some + 1.0);
    };
    double error = 0;
    for (Index good = 0; good <= n; ++good) {
      double one = 0;
      double all = 0;
      for (Index turned = 0; turned <= std::min(good, options_.negations); ++turned) {
        const Index others = options_.negations - turned;
        if (others > n - good) continue;
        const double chance = std::exp(log_choose(good, turned) + log_choose(n - good, others) -
                                       log_choose(n, options_.negations));
        all += chance;
        // `turned` good opinions become bad and `others` bad ones good.
        if (2 * (good - turned + others) > n) one += chance;
      }
      error += std::exp(log_choose(n, good) - static_cast<double>(n) * std::log(2.0)) *
               std::min(one, all - one);
    }
    return error;
  }

  /// Draws the positions of the opinions, with at least min_gap other tokens before each; all such
  /// positions are equally likely. A filler is taken with probability (free ones) / (free ones and
  /// opinions to place).
  std::vector<Index> draw_places(SampleDraws& draws) const {
    std::vector<Index> places;
    Index free = shape_.length - 1 - options_.opinions * (options_.min_gap + 1);
    Index t = 1;
    for (Index left = options_.opinions; left > 0;) {
      if (draws.index(free + left) < left) {
        places.push_back(t + options_.min_gap);
        t += options_.min_gap + 1;
        --left;
      } else {
        --free;
        ++t;
      }
    }
    return places;
  }

  /// 1 for a good word, -1 for a bad one, else 0.
  int opinion_of(std::int32_t token) const {
    const auto words = static_cast<std::int32_t>(options_.words);
    if (token < kFirstWord || token >= kFirstWord + 2 * words) return 0;
    return token < kFirstWord + words ? 1 : -1;
  }

  /// The opinion of the nearest word of opinion at distances 1 .. reach from t, in one direction; 0
  /// if there is none. `distance` becomes the distance of that word.
  int first_opinion(const Sample& sample, Index t, Index step, Index reach, Index& distance) const {
    for (distance = 1; distance <= reach; ++distance) {
      const Index u = t + step * distance;
      if (u < 0 || u >= shape_.length) break;
      const int opinion = opinion_of(sample.tokens[static_cast<std::size_t>(u)]);
      if (opinion != 0) return opinion;
    }
    distance = shape_.length;
    return 0;
  }

  /// Number of good words minus number of bad words.
  int raw_sum(const Sample& sample) const {
    int sum = 0;
    for (const std::int32_t token : sample.tokens) sum += opinion_of(token);
    return sum;
  }

  /// The share of wrong answers: one half if the sum of opinions is 0.
  static double share_wrong(int sum, const Sample& sample) {
    if (sum == 0) return 0.5;
    return (sum > 0) == (sample.label == 1) ? 0 : 1;
  }

  /// Share of wrong answers of a predictor that sees all opinions, and `reach` tokens after each
  /// negation.
  double wrong_within(const Sample& sample, Index reach) const {
    int sum = raw_sum(sample);
    Index unused = 0;
    for (Index t = 0; t < shape_.length; ++t) {
      if (sample.tokens[static_cast<std::size_t>(t)] == kNegation)
        sum -= 2 * first_opinion(sample, t, 1, reach, unused);
    }
    return share_wrong(sum, sample);
  }

  /// The same for a predictor that applies a negation to the nearest opinion, before or after it.
  double wrong_of_nearest(const Sample& sample) const {
    int sum = raw_sum(sample);
    for (Index t = 0; t < shape_.length; ++t) {
      if (sample.tokens[static_cast<std::size_t>(t)] != kNegation) continue;
      Index ahead = 0;
      Index behind = 0;
      const int next = first_opinion(sample, t, 1, shape_.length, ahead);
      const int last = first_opinion(sample, t, -1, shape_.length, behind);
      sum -= 2 * (behind < ahead ? last : next);
    }
    return share_wrong(sum, sample);
  }

  NegationOptions options_;
};

}  // namespace

void NegationOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of a text in tokens");
  v.visit("opinions", opinions, "number of opinion words in a text");
  v.visit("negations", negations, "number of opinion words that a negation reverses");
  v.visit("balanced",
          balanced,
          "equally many good and bad words, so that word counts carry no information");
  v.visit(
      "min_gap", min_gap, "smallest distance of a negation and the opinion word that it reverses");
  v.visit("max_gap", max_gap, "largest distance; 0: up to the previous opinion word");
  v.visit("words", words, "number of different good words, and of bad ones");
  v.visit("fillers", fillers, "number of different words without an opinion");
}

std::unique_ptr<Task> negation_task(const NegationOptions& options, std::uint64_t seed) {
  return std::make_unique<Negation>(options, seed);
}

}  // namespace matapprox::tasks
