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

/// What is asked of a sequence.
enum class Answer {
  kNumber,      ///< one number
  kClass,       ///< one of `classes`
  kTokenClass,  ///< one of `classes` for each token that has a label
  kLabels       ///< of each of `classes` labels, whether the sequence has it
};

struct TaskShape {
  Index length = 0;      ///< the largest N
  Index features = 0;    ///< columns of a sample's features; 0: a sample is token ids
  Index vocabulary = 0;  ///< token ids are 0 .. vocabulary - 1; 0: a sample is features
  Answer answer = Answer::kNumber;
  Index classes = 0;     ///< 0 for kNumber
  double tolerance = 0;  ///< kNumber: an answer that is this far off or farther is an error
};

/// One sequence of N tokens and its answer. Filled again and again: vectors keep their memory.
struct Sample {
  std::vector<std::int32_t> tokens;  ///< N ids, or empty
  std::vector<float> features;       ///< N x features, row-major, or empty
  std::vector<std::uint8_t> mask;    ///< N, 0 for padding; empty: all are tokens
  double number = 0;                 ///< of kNumber
  std::int32_t label = 0;            ///< of kClass
  std::vector<std::int32_t> labels;  ///< of kTokenClass: N, -1 where nothing is asked; of kLabels:
                                     ///< one a label, 0 or 1
};

/// What a predictor that has not learned to mix tokens can reach: printed beside every result.
struct Baseline {
  std::string name;   ///< "constant", "majority class", "first token"
  double error = 0;   ///< share of wrong answers, 0..1
  Index samples = 0;  ///< that it was measured on; 0: from a formula
};

/// Sequences with answers. Sample i of a split is a function of the task's options and seed, the
/// split and i only, so that threads, batches and a resumed run see the same data.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskShape& shape() const = 0;
  /// Samples of a split; 0: as many as wanted, made when asked for.
  virtual Index size(Split split) const = 0;
  /// Makes sample i of a split, i from 0 (below size(split) where that is not 0). Safe to call from
  /// several threads.
  virtual void make(Split split, Index i, Sample& sample) const = 0;
  /// Trivial predictors measured on the first `samples` of a split, or exact.
  virtual std::vector<Baseline> baselines(Split split, Index samples) const = 0;
  /// Of sequences that are the pixels of an image, row by row: how many a row has. 0: of others.
  virtual Index image_width() const { return 0; }
  /// The tokens of a sample, ascending, that its question is about: those at the centers of
  /// Pathfinder's two markers. Empty: the task does not say.
  virtual std::vector<Index> marked_tokens(Split /*split*/, Index /*i*/) const { return {}; }
};

/// A task by name.
struct TaskEntry {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> (*options)();  ///< its own, with their defaults
};
std::vector<TaskEntry> task_entries();

/// The task `name` with the options given as text.
/// Throws InvalidArgument for a name or an option that does not exist (the nearest is suggested),
/// or text that does not fit; FileError for a file that it cannot use.
std::unique_ptr<Task> make_task(std::string_view name,
                                const NamedOptions& options,
                                std::uint64_t seed);

}  // namespace matapprox::tasks
