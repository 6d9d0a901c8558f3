#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "attention/tasks/draws.hpp"
#include "attention/tasks/fitted_baselines.hpp"
#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/io/atomic_output.hpp"

namespace matapprox::tasks {
namespace {

constexpr std::int32_t kBaseCount = 4;
/// Includes n, as in the importer of FASTA files.
constexpr Index kMotifVocabulary = 5;
constexpr std::string_view kMotifLetters = "acgt";
constexpr Index kMinMotif = 4;
constexpr Index kMaxMotif = 64;
constexpr Index kFastaLine = 70;
/// The words are drawn with the random numbers of a sample that is never requested.
constexpr Index kWordsSample = SampleDraws::kSamples - 1;

using Word = std::vector<std::int32_t>;

/// The letters of a sample that are not padding.
std::span<const std::int32_t> letters_of(const Sample& sample) {
  const auto real = std::count(sample.mask.begin(), sample.mask.end(), std::uint8_t{1});
  return {sample.tokens.data(), static_cast<std::size_t>(real)};
}

/// Position of the first occurrence of the word; the length if there is none.
Index first_place(std::span<const std::int32_t> letters, const Word& word) {
  return std::search(letters.begin(), letters.end(), word.begin(), word.end()) - letters.begin();
}

class PlantedMotifs final : public DrawnTask {
 public:
  PlantedMotifs(const PlantedMotifsOptions& options, std::uint64_t seed)
      : DrawnTask(seed), options_(options) {
    const Index w = options.motif;
    require_within("planted_motifs", "motif", w, kMinMotif, kMaxMotif);
    require_length("planted_motifs", options.length, 2 * w);
    require(options.min_length == 0 ||
                (options.min_length >= 2 * w && options.min_length <= options.length),
            "planted_motifs: min_length {} is neither 0 nor in {}..{}",
            options.min_length,
            2 * w,
            options.length);
    require(options.share > 0 && options.share < 1,
            "planted_motifs: share {} is outside 0..1 (both excluded)",
            options.share);
    shape_.length = options.length;
    shape_.vocabulary = kMotifVocabulary;
    shape_.answer = Answer::kClass;
    shape_.classes = 2;
    draw_words();
  }

  void make(Split split, Index i, Sample& sample) const override {
    SampleDraws draws(seed_, split, i);
    clear(sample);
    sample.label = draws.uniform() < options_.share ? 1 : 0;
    const Index least = options_.min_length == 0 ? options_.length : options_.min_length;
    const Index length = least + draws.index(options_.length - least + 1);
    const auto [first, second] = places(length, draws);
    const auto N = static_cast<std::size_t>(options_.length);
    sample.tokens.assign(N, 0);
    sample.mask.assign(N, 0);
    std::fill_n(sample.mask.begin(), length, std::uint8_t{1});
    for (Index t = 0; t < length; ++t)
      sample.tokens[static_cast<std::size_t>(t)] = draws.symbol(kBaseCount);
    const Word& own = sample.label == 1 ? a_ : b_;
    const Word& other = sample.label == 1 ? b_ : a_;
    std::copy(own.begin(), own.end(), sample.tokens.begin() + first);
    if (options_.question == MotifQuestion::kOrder)
      std::copy(other.begin(), other.end(), sample.tokens.begin() + second);
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    const double rarer = std::min(options_.share, 1 - options_.share);
    return {{"majority class, also by the numbers of letters", rarer, 0},
            measured_baseline(
                "the word that comes first, found", *this, split, samples, [&](const Sample& s) {
                  return by_first_word(s) == s.label ? 0.0 : 1.0;
                })};
  }

 private:
  void draw_words() {
    SampleDraws draws(seed_, Split::kTrain, kWordsSample);
    for (Index k = 0; k < options_.motif; ++k) a_.push_back(draws.symbol(kBaseCount));
    // Equal letters have no other order.
    while (std::count(a_.begin(), a_.end(), a_.front()) == options_.motif)
      a_.back() = draws.symbol(kBaseCount);
    b_ = a_;
    while (b_ == a_) shuffle(b_, draws);
  }

  /// Draws the position of one word, or of two that do not overlap, the first one before the
  /// second; all such positions are equally likely.
  std::pair<Index, Index> places(Index length, SampleDraws& draws) const {
    const Index w = options_.motif;
    if (options_.question == MotifQuestion::kPresence) return {draws.index(length - w + 1), 0};
    // Two distinct numbers below `room`; w - 1 more for the second word keeps it behind the first.
    const Index room = length - 2 * w + 2;
    Index first = draws.index(room);
    Index second = draws.index(room - 1);
    if (second >= first) ++second;
    if (second < first) std::swap(first, second);
    return {first, second + w - 1};
  }

  /// A word may also occur by chance. If neither word is found, the answer is the larger class.
  std::int32_t by_first_word(const Sample& sample) const {
    const std::span<const std::int32_t> letters = letters_of(sample);
    const Index a = first_place(letters, a_);
    const Index b = first_place(letters, b_);
    if (a == b) return options_.share > 0.5 ? 1 : 0;
    return a < b ? 1 : 0;
  }

  PlantedMotifsOptions options_;
  Word a_;
  Word b_;
};

}  // namespace

void PlantedMotifsOptions::visit(OptionVisitor& v) {
  v.visit("length", length, "length N of the longest sequence in letters");
  v.visit("min_length", min_length, "length of the shortest sequence in letters; 0: all have N");
  v.visit("motif", motif, "number of letters of a planted word");
  v.visit_enum("question", question, "which of two words occurs, or which comes first");
  v.visit("share", share, "probability of class 1, between 0 and 1");
}

std::unique_ptr<Task> planted_motifs_task(const PlantedMotifsOptions& options, std::uint64_t seed) {
  return std::make_unique<PlantedMotifs>(options, seed);
}

void write_motifs_as_fasta(const PlantedMotifsOptions& options,
                           std::uint64_t seed,
                           Index samples,
                           const std::string& folder) {
  const PlantedMotifs task(options, seed);
  require(samples >= 1, "planted_motifs: {} samples; at least 1 is required", samples);
  std::array<std::string, 2> records;
  Sample sample;
  for (Index i = 0; i < samples; ++i) {
    task.make(Split::kTrain, i, sample);
    std::string& text = records[static_cast<std::size_t>(sample.label)];
    text += fmt::format(">sample{} class{}", i, sample.label);
    Index column = 0;
    for (const std::int32_t letter : letters_of(sample)) {
      if (column++ % kFastaLine == 0) text += '\n';
      text += kMotifLetters[static_cast<std::size_t>(letter)];
    }
    text += '\n';
  }
  for (std::size_t label = 0; label < records.size(); ++label) {
    const std::filesystem::path path =
        std::filesystem::path(folder) / fmt::format("class{}.fa", label);
    AtomicOutput output(path.string());
    output.write(records[label]);
    output.commit();
  }
}

}  // namespace matapprox::tasks
