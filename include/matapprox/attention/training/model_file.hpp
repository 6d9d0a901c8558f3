#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/training/trainer.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::training {

/// A model with its task and the state of its training: everything that `train --resume` and
/// `evaluate` need.
struct SavedModel {
  std::string task;  ///< name of the task
  NamedOptions task_options;
  ModelDescription model;
  NamedOptions training_options;
  std::uint64_t seed = 1;  ///< seed of data, initial parameters and dropout
  TrainingState state;
};

/// Writes an HDF5 file, whole or not at all; docs/file-format.md describes its layout. The
/// parameters are those of state.best, each under its name in /parameters as float; /state has the
/// rest. Throws FileError if it cannot be written, NumericalError if a parameter is not finite.
void save_model(const std::string& path, const SavedModel& saved);

/// Throws FileError for a file that is missing, damaged, from another program or of a newer
/// version, or whose arrays do not match the model that it describes.
SavedModel load_model(const std::string& path);

/// Location of a parameter in another program's file of weights.
struct NameRule {
  /// Name of the parameter; one `*` stands for a number, as in block*.norm1.weight, and for the
  /// same number in the names of tensors.
  std::string parameter;
  std::vector<std::string> tensors = {};  ///< names in the file; the first one found is used
  bool transposed = false;                ///< the file has out x in, this library in x out
  /// First row to copy; the tensor may have more rows than the parameter. Empty: it must have as
  /// many.
  std::optional<Index> first_row = std::nullopt;
  bool optional = false;  ///< if the tensor's size differs, the parameter keeps its start
};

/// List of rules; the first one for a parameter counts.
using NameMap = std::vector<NameRule>;

/// Names of BERT [DCLT19] as in its published PyTorch weights, with and without the prefix `bert.`,
/// norms with weight and bias or gamma and beta: tokens, positions and segments (their first rows),
/// the vector of the token [CLS] (row 101 of the published vocabularies) for `cls_token`, the
/// layers, the pooler, and a classifier if it has as many classes.
NameMap bert_names();

/// Reads a map from a JSON file: an object with a member for each parameter, either the tensor's
/// name or {"from": name or list of names, "transposed": bool, "first_row": number, "optional":
/// bool}. Throws FileError, naming the fault, for a file that cannot be read or has another form.
NameMap read_name_map(const std::string& path);
/// The same for a text; `name` begins the messages.
NameMap parse_name_map(std::string_view text, const std::string& name);

/// Returns the rule for a parameter with the number inserted into its names, or nothing.
std::optional<NameRule> rule_for(const NameMap& map, std::string_view parameter);

/// Writes the best parameters of a model as a safetensors file for other programs, each as F32 rows
/// x cols under its name, with task, model, options and seed as metadata. Throws FileError.
void save_weights(const std::string& path, const SavedModel& saved);

/// Copies into `values` (the block of all parameters of `list`) every parameter that the file has
/// under the same name and size, and returns the names. The file is from save_model or any
/// safetensors file: numbers of other types are rounded to float, and n numbers of one dimension
/// count as 1 x n.
///
/// This transfers queries, keys and values from a SimpleTRON model to one with softmax attention
/// [SimpleTRON, Sec. 4.2]: both use the same names. Throws FileError for a file that cannot be
/// read, InvalidArgument if nothing in it fits.
std::vector<std::string> transfer_weights(const std::string& path,
                                          const attention::ParameterList& list,
                                          std::span<float> values);

/// The same from a safetensors file of another program, by the rules of `map`: parameters without a
/// rule, and those for which the file has no tensor, keep their values. Also throws InvalidArgument
/// for a tensor whose size differs from that of its parameter, unless the rule is optional, and for
/// a file of another kind.
std::vector<std::string> transfer_weights(const std::string& path,
                                          const NameMap& map,
                                          const attention::ParameterList& list,
                                          std::span<float> values);

/// Replaces, in every layer and head, the queries and keys by those of rank r whose scores are
/// nearest: with Q = [X 1] A, K = [X 1] B, A B^T (d + 1 x d + 1, of rank p) becomes its truncated
/// SVD, the Frobenius-optimal matrix of rank r; columns r..p-1 of A and B become 0. Throws
/// InvalidArgument unless 0 <= rank <= p, or if a layer has no queries and keys of width d.
void truncate_scores(const ModelDescription& description, Index rank, std::span<float> values);

}  // namespace matapprox::training
