#include "attention/tasks/fitted_baselines.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

constexpr Index kMinFitted = 2000;
constexpr Index kMaxSymbols = 32768;
constexpr Index kSamplesAPart = 64;

/// Calls body(k, sample) for samples first + k, k = 0 .. count-1, in any order.
void for_samples(const Task& task,
                 Split split,
                 Index first,
                 Index count,
                 const std::function<void(std::size_t k, const Sample& sample)>& body) {
  parallel_for((count + kSamplesAPart - 1) / kSamplesAPart, [&](Index part) {
    Sample sample;
    const Index begin = part * kSamplesAPart;
    for (Index k = begin; k < std::min(begin + kSamplesAPart, count); ++k) {
      task.make(split, first + k, sample);
      body(static_cast<std::size_t>(k), sample);
    }
  });
}

/// Cells, one row per reader, and labels of a range of samples.
struct SeenSamples {
  std::vector<std::vector<Index>> cells;
  std::vector<std::int32_t> labels;
};

SeenSamples see(
    const Task& task, Split split, Index first, Index count, std::span<const CellReader> readers) {
  const auto size = static_cast<std::size_t>(count);
  SeenSamples seen{std::vector(readers.size(), std::vector<Index>(size)),
                   std::vector<std::int32_t>(size)};
  for_samples(task, split, first, count, [&](std::size_t k, const Sample& sample) {
    for (std::size_t r = 0; r < readers.size(); ++r) {
      seen.cells[r][k] = readers[r].cell(sample);
    }
    seen.labels[k] = sample.label;
  });
  return seen;
}

std::int32_t most_frequent(std::span<const Index> counts) {
  return static_cast<std::int32_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

/// The most frequent class of each cell; ties go to the lowest class.
std::vector<std::int32_t> fit_cells(const std::vector<Index>& cells,
                                    const std::vector<std::int32_t>& labels,
                                    Index cell_count,
                                    Index class_count) {
  const auto classes = static_cast<std::size_t>(class_count);
  std::vector<Index> total(classes);
  std::vector counts(static_cast<std::size_t>(cell_count), total);
  for (std::size_t k = 0; k < labels.size(); ++k) {
    const auto label = static_cast<std::size_t>(labels[k]);
    ++total[label];
    ++counts[static_cast<std::size_t>(cells[k])][label];
  }
  const std::int32_t majority = most_frequent(total);
  std::vector<std::int32_t> answers;
  answers.reserve(counts.size());
  for (const std::vector<Index>& cell : counts) {
    const std::int32_t answer = most_frequent(cell);
    const bool seen = cell[static_cast<std::size_t>(answer)] > 0;
    answers.push_back(seen ? answer : majority);
  }
  return answers;
}

void require_samples(Index samples) {
  require(samples >= 1, "baselines: samples {} is below 1", samples);
}

}  // namespace

std::vector<Baseline> fitted_baselines(const Task& task,
                                       Split split,
                                       Index samples,
                                       std::span<const CellReader> readers) {
  require_samples(samples);
  const SeenSamples fitted =
      see(task, Split::kTrain, samples, std::max(2 * samples, kMinFitted), readers);
  const SeenSamples asked = see(task, split, 0, samples, readers);
  std::vector<Baseline> baselines;
  for (std::size_t r = 0; r < readers.size(); ++r) {
    const auto answers =
        fit_cells(fitted.cells[r], fitted.labels, readers[r].cells, task.shape().classes);
    Index wrong = 0;
    for (std::size_t k = 0; k < asked.labels.size(); ++k) {
      const auto cell = static_cast<std::size_t>(asked.cells[r][k]);
      wrong += answers[cell] == asked.labels[k] ? 0 : 1;
    }
    baselines.push_back(
        {readers[r].name, static_cast<double>(wrong) / static_cast<double>(samples), samples});
  }
  return baselines;
}

Baseline measured_baseline(std::string name,
                           const Task& task,
                           Split split,
                           Index samples,
                           const std::function<double(const Sample& sample)>& wrong) {
  require_samples(samples);
  std::vector<double> shares(static_cast<std::size_t>(samples));
  for_samples(task, split, 0, samples, [&](std::size_t k, const Sample& sample) {
    shares[k] = wrong(sample);
  });
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  return {std::move(name), sum / static_cast<double>(samples), samples};
}

Index largest_count(std::span<const std::int32_t> ids) {
  std::vector<std::int32_t> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  Index most = 0;
  for (auto run = sorted.begin(); run != sorted.end();) {
    const auto end = std::upper_bound(run, sorted.end(), *run);
    most = std::max<Index>(most, end - run);
    run = end;
  }
  return most;
}

void require_symbols(std::string_view who, std::string_view option, Index symbols) {
  require(symbols >= 2 && symbols <= kMaxSymbols,
          "{}: {} {} is outside 2..{}",
          who,
          option,
          symbols,
          kMaxSymbols);
}

}  // namespace matapprox::tasks
