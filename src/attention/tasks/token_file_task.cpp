#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

using RowLists = std::array<std::vector<Index>, 3>;  // one list per split

std::vector<Index>& rows_of(RowLists& lists, Split split) {
  return lists[static_cast<std::size_t>(split)];
}

/// Puts rows in an order that depends only on the seed, the split and the rows.
void shuffle_rows(std::vector<Index>& rows, std::uint64_t seed, Split split) {
  constexpr Index kRowsOfASplit = Index{1} << 46;
  std::vector<std::pair<std::uint64_t, Index>> keys;
  keys.reserve(rows.size());
  for (const Index row : rows) {
    const auto words =
        random_words(seed, RandomStream::kTask, static_cast<Index>(split) * kRowsOfASplit + row, 0);
    keys.emplace_back(std::uint64_t{words[0]} << 32U | words[1], row);
  }
  std::sort(keys.begin(), keys.end());
  std::transform(
      keys.begin(), keys.end(), rows.begin(), [](const auto& key) { return key.second; });
}

/// Moves a share of the training rows, at least one, to a split without rows.
void take_share(RowLists& lists, Split split, double share) {
  std::vector<Index>& training = rows_of(lists, Split::kTrain);
  if (!rows_of(lists, split).empty() || training.empty()) return;
  constexpr std::uint64_t kSameForAll = 0;
  shuffle_rows(training, kSameForAll, split);
  const auto count =
      std::max<std::ptrdiff_t>(1, std::lround(share * static_cast<double>(training.size())));
  rows_of(lists, split).assign(training.end() - count, training.end());
  training.erase(training.end() - count, training.end());
}

/// Lists of rows by the split that the file assigns to them.
RowLists rows_by_split(const TokenSet& set) {
  RowLists lists;
  for (Index row = 0; row < set.size(); ++row) {
    const Split split =
        set.splits.empty() ? Split::kTrain : set.splits[static_cast<std::size_t>(row)];
    rows_of(lists, split).push_back(row);
  }
  return lists;
}

/// The class of each row, or an index of its set of labels.
std::vector<Index> label_groups(const TokenSet& set) {
  if (!set.has_label_sets()) return {set.labels.begin(), set.labels.end()};
  std::map<std::string, Index> numbers;  // keys are the bytes of a set
  std::vector<Index> groups;
  for (Index row = 0; row < set.size(); ++row) {
    const auto target = set.target(row);
    const auto found =
        numbers.emplace(std::string(target.begin(), target.end()), std::ssize(numbers));
    groups.push_back(found.first->second);
  }
  return groups;
}

/// Moves one part of the training rows to the split `left_out`. Rows are assigned to the folds in
/// turn, class after class.
void take_fold(RowLists& lists,
               Split left_out,
               const TokenSet& set,
               const TokenFileOptions& options) {
  constexpr Index kFoldRows = Index{3} << 46;  // after those of shuffle_rows
  std::vector<Index>& training = rows_of(lists, Split::kTrain);
  require(options.folds <= std::ssize(training),
          "token_file: {} folds are more than the {} rows of {}{}",
          options.folds,
          training.size(),
          options.path,
          left_out == Split::kTest ? "" : " outside the test split");
  const std::vector<Index> groups = label_groups(set);
  std::vector<std::tuple<Index, std::uint64_t, Index>> order;  // group, key, row
  order.reserve(training.size());
  for (const Index row : training) {
    const auto words = random_words(options.fold_seed, RandomStream::kTask, kFoldRows + row, 0);
    order.emplace_back(
        groups[static_cast<std::size_t>(row)], std::uint64_t{words[0]} << 32U | words[1], row);
  }
  std::sort(order.begin(), order.end());
  training.clear();
  for (Index k = 0; k < std::ssize(order); ++k) {
    const bool is_left_out = k % options.folds == options.fold;
    rows_of(lists, is_left_out ? left_out : Split::kTrain)
        .push_back(std::get<2>(order[static_cast<std::size_t>(k)]));
  }
  std::sort(training.begin(), training.end());
}

RowLists rows_by_fold(const TokenSet& set, const TokenFileOptions& options) {
  RowLists lists;
  if (options.fold_role == FoldRole::kTest) {
    lists.front().resize(static_cast<std::size_t>(set.size()));
    std::iota(lists.front().begin(), lists.front().end(), Index{0});
    take_fold(lists, Split::kTest, set, options);
    return lists;
  }
  lists = rows_by_split(set);
  take_share(lists, Split::kTest, options.test_share);
  std::vector<Index>& training = rows_of(lists, Split::kTrain);
  std::vector<Index>& validation = rows_of(lists, Split::kValidation);
  training.insert(training.end(), validation.begin(), validation.end());
  validation.clear();
  take_fold(lists, Split::kValidation, set, options);
  return lists;
}

RowLists whole_file_thrice(const TokenSet& set) {
  RowLists lists;
  lists.front().resize(static_cast<std::size_t>(set.size()));
  std::iota(lists.front().begin(), lists.front().end(), Index{0});
  lists[1] = lists[2] = lists.front();
  return lists;
}

RowLists divide_rows(const TokenSet& set, const TokenFileOptions& options, std::uint64_t seed) {
  if (options.undivided) return whole_file_thrice(set);
  RowLists lists = options.folds > 0 ? rows_by_fold(set, options) : rows_by_split(set);
  take_share(lists, Split::kTest, options.test_share);
  take_share(lists, Split::kValidation, options.validation_share);
  for (const Split split : {Split::kTrain, Split::kValidation, Split::kTest}) {
    std::sort(rows_of(lists, split).begin(), rows_of(lists, split).end());
    shuffle_rows(rows_of(lists, split), seed, split);
    if (rows_of(lists, split).empty()) {
      throw FileError(
          fmt::format("{}: {} rows are too few: each of training, validation and test "
                      "needs one",
                      options.path,
                      set.size()));
    }
  }
  return lists;
}

class TokenFileTask final : public Task {
 public:
  TokenFileTask(TokenSet set, const TokenFileOptions& options, std::uint64_t seed)
      : set_(std::move(set)), rows_(divide_rows(set_, options, seed)) {
    const Index longest = set_.longest();
    require(options.length == 0 || options.length >= longest,
            "token_file: length {} is below {}, the longest sequence of {}",
            options.length,
            longest,
            options.path);
    shape_.length = std::max(longest, options.length);
    shape_.vocabulary = set_.vocabulary;
    shape_.features = set_.features;
    shape_.answer = set_.has_label_sets() ? Answer::kLabels : Answer::kClass;
    shape_.classes = set_.classes;
    if (set_.has_label_sets()) {
      learn_common_labels();
    } else {
      learn_baselines();
    }
  }

  const TaskShape& shape() const override { return shape_; }
  Index size(Split split) const override { return std::ssize(rows(split)); }

  void make(Split split, Index i, Sample& sample) const override {
    require(
        i >= 0 && i < size(split), "token_file: sample {} is outside 0..{}", i, size(split) - 1);
    const Index row = rows(split)[static_cast<std::size_t>(i)];
    const auto length = static_cast<std::size_t>(shape_.length);
    sample.tokens.clear();
    sample.features.clear();
    sample.labels.clear();
    sample.number = 0;
    if (shape_.features > 0) {
      const auto values = set_.feature_rows(row);
      sample.features.assign(length * static_cast<std::size_t>(shape_.features), 0);
      std::copy(values.begin(), values.end(), sample.features.begin());
    } else {
      const auto sequence = set_.sequence(row);
      sample.tokens.assign(length, 0);
      std::copy(sequence.begin(), sequence.end(), sample.tokens.begin());
    }
    sample.mask.assign(length, 0);
    std::fill_n(sample.mask.begin(), set_.length(row), std::uint8_t{1});
    sample.label = 0;
    if (set_.has_label_sets()) {
      const auto target = set_.target(row);
      sample.labels.assign(target.begin(), target.end());
    } else {
      sample.label = label(row);
    }
  }

  std::vector<Baseline> baselines(Split split, Index samples) const override {
    require(
        samples >= 1, "token_file: {} samples for the baselines; at least 1 is needed", samples);
    const Index count = std::min(samples, size(split));
    if (set_.has_label_sets()) return label_baselines(split, count);
    Index wrong_majority = 0;
    Index wrong_first = 0;
    for (Index i = 0; i < count; ++i) {
      const Index row = rows(split)[static_cast<std::size_t>(i)];
      const auto found = of_first_.find(first_token(row));
      const std::int32_t answer = found == of_first_.end() ? majority_ : found->second;
      wrong_majority += label(row) != majority_ ? 1 : 0;
      wrong_first += label(row) != answer ? 1 : 0;
    }
    const auto share = [&](Index wrong) {
      return static_cast<double>(wrong) / static_cast<double>(count);
    };
    std::vector<Baseline> baselines{{"majority class", share(wrong_majority), count}};
    if (set_.features == 0) baselines.push_back({"first token", share(wrong_first), count});
    return baselines;
  }

 private:
  const std::vector<Index>& rows(Split split) const {
    return rows_[static_cast<std::size_t>(split)];
  }
  /// The first token of a row; features have no ids and are represented by 0.
  std::int32_t first_token(Index row) const {
    return set_.features > 0 ? 0 : set_.sequence(row).front();
  }
  std::int32_t label(Index row) const { return set_.labels[static_cast<std::size_t>(row)]; }

  /// Finds the labels that most training rows have.
  void learn_common_labels() {
    std::vector<Index> with(static_cast<std::size_t>(set_.classes));
    for (const Index row : rows(Split::kTrain)) {
      const auto target = set_.target(row);
      std::transform(target.begin(), target.end(), with.begin(), with.begin(), std::plus<>());
    }
    for (const Index count : with) common_.push_back(2 * count > size(Split::kTrain) ? 1 : 0);
  }

  std::vector<Baseline> label_baselines(Split split, Index count) const {
    Index wrong = 0;
    Index all = 0;
    for (Index i = 0; i < count; ++i) {
      const auto target = set_.target(rows(split)[static_cast<std::size_t>(i)]);
      for (std::size_t c = 0; c < target.size(); ++c) {
        wrong += target[c] != common_[c] ? 1 : 0;
        all += target[c];
      }
    }
    const auto answers = static_cast<double>(count * set_.classes);
    return {{"labels of most samples", static_cast<double>(wrong) / answers, count},
            {"no labels", static_cast<double>(all) / answers, count}};
  }

  /// The most frequent class of the training rows; ties go to the lowest class.
  using Counts = std::unordered_map<std::int32_t, Index>;
  static std::int32_t most_frequent(const Counts& counts) {
    const auto less = [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first > b.first;
    };
    return std::max_element(counts.begin(), counts.end(), less)->first;
  }

  void learn_baselines() {
    Counts all;
    std::unordered_map<std::int32_t, Counts> by_first;
    for (const Index row : rows(Split::kTrain)) {
      ++all[label(row)];
      ++by_first[first_token(row)][label(row)];
    }
    majority_ = most_frequent(all);
    for (const auto& [first, counts] : by_first) of_first_[first] = most_frequent(counts);
  }

  TokenSet set_;
  RowLists rows_;
  TaskShape shape_;
  std::vector<std::uint8_t> common_;  ///< labels that most training rows have, 0 or 1
  std::int32_t majority_ = 0;
  std::unordered_map<std::int32_t, std::int32_t> of_first_;
};

void require_share(const char* name, double share) {
  require(share > 0 && share <= 0.5,
          "token_file: {} {} is outside 0..0.5, 0 excluded: every split needs samples",
          name,
          share);
}

void require_folds(const TokenFileOptions& options) {
  constexpr Index kMaxFolds = 1000;
  require(options.folds == 0 || (options.folds >= 2 && options.folds <= kMaxFolds),
          "token_file: folds {} is outside 2..{} (0: no cross-validation)",
          options.folds,
          kMaxFolds);
  require(options.fold >= 0 && options.fold < std::max<Index>(1, options.folds),
          "token_file: fold {} is outside 0..{}",
          options.fold,
          std::max<Index>(1, options.folds) - 1);
  require(options.folds == 0 || !options.undivided,
          "token_file: folds and undivided exclude each other");
}

}  // namespace

void TokenFileOptions::visit(OptionVisitor& v) {
  v.visit("path", path, "token file, as written by `attention data import`");
  v.visit(
      "validation_share",
      validation_share,
      "fraction of the training rows for validation if the file has no validation rows; up to 0.5");
  v.visit("test_share",
          test_share,
          "fraction of the training rows for testing if the file has no test rows; up to 0.5");
  v.visit(
      "folds", folds, "number of parts for cross-validation, of which one is left out; 0: none");
  v.visit("fold", fold, "part that is left out, counted from 0");
  v.visit_enum("fold_role",
               fold_role,
               "test: parts of all rows; validation: parts of the rows that are not for testing");
  v.visit("fold_seed", fold_seed, "seed of the division into parts");
  v.visit("length", length, "length N to which sequences are padded; 0: the longest of the file");
  v.visit(
      "undivided", undivided, "use the whole file for every split, to evaluate on another file");
}

std::unique_ptr<Task> token_file_task(const TokenFileOptions& options, std::uint64_t seed) {
  require(!options.path.empty(), "token_file: the option path must name a token file");
  require_share("validation_share", options.validation_share);
  require_share("test_share", options.test_share);
  require_folds(options);
  require(options.length >= 0 && options.length <= kLongestSequence,
          "token_file: length {} is outside 0..{}",
          options.length,
          kLongestSequence);
  return std::make_unique<TokenFileTask>(read_token_file(options.path), options, seed);
}

}  // namespace matapprox::tasks
