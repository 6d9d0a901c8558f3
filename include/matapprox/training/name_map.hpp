#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::training {

/// Where another program's file of weights has a parameter of ours.
struct NameRule {
  /// Its name; one `*` stands for a number, as in block*.norm1.weight, and for the same one in the
  /// names of tensors.
  std::string parameter;
  std::vector<std::string> tensors = {};  ///< names in the file, the first that it has is taken
  bool transposed = false;                ///< the file holds out x in, we hold in x out
  /// From this row on; the tensor may have more rows than the parameter. None: it must have as
  /// many.
  std::optional<Index> first_row = std::nullopt;
  bool optional = false;  ///< where the tensor's size is another, the parameter keeps its start
};

/// Of the rules for a parameter the first counts.
using NameMap = std::vector<NameRule>;

/// Names of BERT [DCLT19] as its published PyTorch weights have them, with and without `bert.` in
/// front, norms with weight and bias or gamma and beta: tokens, positions and segments (their first
/// rows), the vector of the token [CLS] (row 101 of the published vocabularies) for `cls_token`,
/// the layers, the pooler, and a classifier if it has as many classes.
NameMap bert_names();

/// A map from a JSON file: an object with a member for each parameter, either the tensor's name or
/// {"from": name or list of names, "transposed": bool, "first_row": number, "optional": bool}.
/// Throws FileError, saying what is wrong, for a file that cannot be read or is not that.
NameMap read_name_map(const std::string& path);
/// The same of a text; `name` starts the messages.
NameMap parse_name_map(std::string_view text, const std::string& name);

/// The rule for a parameter with the number put into its names, or none.
std::optional<NameRule> rule_for(const NameMap& map, std::string_view parameter);

}  // namespace matapprox::training
