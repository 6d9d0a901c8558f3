#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::tasks {

enum class Split { kTrain, kValidation, kTest };

/// Form of the answer to a sequence.
enum class Answer {
  kNumber,      ///< one number
  kClass,       ///< one of `classes`
  kTokenClass,  ///< one of `classes` for each token that has a label
  kLabels       ///< a set of labels: for each of `classes`, whether the sequence has it
};

struct TaskShape {
  Index length = 0;      ///< the largest N
  Index features = 0;    ///< columns of a sample's features; 0: a sample is token ids
  Index vocabulary = 0;  ///< token ids are 0 .. vocabulary - 1; 0: a sample is features
  Answer answer = Answer::kNumber;
  Index classes = 0;     ///< 0 for kNumber
  double tolerance = 0;  ///< kNumber: an answer with this error or more is wrong
};

/// One sequence of N tokens and its answer. An object is reused, so that vectors keep their memory.
struct Sample {
  std::vector<std::int32_t> tokens;  ///< N ids, or empty
  std::vector<float> features;       ///< N x features, row-major, or empty
  std::vector<std::uint8_t> mask;    ///< N, 0 for padding; empty: all are tokens
  double number = 0;                 ///< answer for kNumber
  std::int32_t label = 0;            ///< answer for kClass
  /// Answers for kTokenClass: N, -1 for a token without one; for kLabels: one per label, 0 or 1.
  std::vector<std::int32_t> labels;
};

/// Result of a predictor that has not learned to mix tokens; printed next to every result.
struct Baseline {
  std::string name;   ///< "constant", "majority class", "first token"
  double error = 0;   ///< fraction of wrong answers, 0..1
  Index samples = 0;  ///< number of measured samples; 0: from a formula
};

/// Sequences with answers. Sample i of a split is a function only of the task's options and seed,
/// the split and i, so that threads, batches and a resumed run get the same data.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskShape& shape() const = 0;
  /// Number of samples of a split; 0: unlimited, generated on request.
  virtual Index size(Split split) const = 0;
  /// Makes sample i of a split, i from 0 (below size(split) if that is not 0). May be called from
  /// several threads.
  virtual void make(Split split, Index i, Sample& sample) const = 0;
  /// Trivial predictors, measured on the first `samples` of a split or computed exactly.
  virtual std::vector<Baseline> baselines(Split split, Index samples) const = 0;
  /// Pixels per row if sequences are the pixels of an image, row by row; else 0.
  virtual Index image_width() const { return 0; }
  /// Tokens of a sample that its question refers to, ascending: those at the centers of
  /// Pathfinder's two markers. Empty: the task does not mark tokens.
  virtual std::vector<Index> marked_tokens(Split /*split*/, Index /*i*/) const { return {}; }
};

/// Registry entry of a task.
struct TaskEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> (*options)();  ///< its own options, with their defaults
};
std::vector<TaskEntry> task_entries();

/// Creates the task `name` with options given as text. Throws InvalidArgument for a name or an
/// option that does not exist (the nearest is suggested), or illegal text; FileError for a file
/// that it cannot use.
std::unique_ptr<Task> make_task(std::string_view name,
                                const NamedOptions& options,
                                std::uint64_t seed);

}  // namespace matapprox::tasks
