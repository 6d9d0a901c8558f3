#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::training {

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

}  // namespace matapprox::training
