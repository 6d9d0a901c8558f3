#include <array>

#include "matapprox/attention/tasks/synthetic.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

struct TaskRow {
  TaskEntry entry;
  std::unique_ptr<Task> (*make)(const NamedOptions& options, std::uint64_t seed);
};

template <class Options, auto function>
constexpr TaskRow task_row(std::string_view name, std::string_view summary) {
  return {{name, summary, [] { return list_options(Options{}); }},
          [](const NamedOptions& options, std::uint64_t seed) {
            return function(options_from<Options>(options), seed);
          }};
}

/// One line per task.
constexpr std::array kTaskRows{
    task_row<AddingOptions, adding_task>("adding", "the sum of two marked numbers"),
    task_row<TemporalOrderOptions, temporal_order_task>("temporal_order",
                                                        "the order of two signals among noise"),
    task_row<ListopsOptions, listops_task>("listops", "the value of a nested list"),
    task_row<PathfinderOptions, pathfinder_task>("pathfinder",
                                                 "does a dashed curve join two markers?"),
    task_row<AssociativeRecallOptions, associative_recall_task>("associative_recall",
                                                                "the value paired with a key"),
    task_row<CopyOptions, copy_task>("copy", "repeats a string after a delimiter"),
    task_row<PlantedMotifsOptions, planted_motifs_task>(
        "planted_motifs", "which of two words a DNA sequence contains"),
    task_row<NegationOptions, negation_task>("negation",
                                             "is a text with negations positive or negative?"),
    task_row<MatchingOptions, matching_task>("matching",
                                             "does a key word occur in both of two texts?"),
    task_row<TokenFileOptions, token_file_task>(
        "token_file", "sequences from a token file, with classes or labels"),
};

}  // namespace

std::vector<TaskEntry> task_entries() {
  std::vector<TaskEntry> all;
  all.reserve(kTaskRows.size());
  for (const TaskRow& row : kTaskRows) all.push_back(row.entry);
  return all;
}

std::unique_ptr<Task> make_task(std::string_view name,
                                const NamedOptions& options,
                                std::uint64_t seed) {
  std::vector<std::string> known;
  for (const TaskRow& row : kTaskRows) {
    if (row.entry.name == name) {
      check_names(name, options, row.entry.options());
      return row.make(options, seed);
    }
    known.emplace_back(row.entry.name);
  }
  throw InvalidArgument(fmt::format("task: there is no '{}'{}", name, suggestion(name, known)));
}

}  // namespace matapprox::tasks
