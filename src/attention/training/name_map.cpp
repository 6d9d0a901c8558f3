#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "io/text_input.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::training {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNumber = '*';

/// Returns the number that `*` stands for in a name, or nothing if the name does not match the
/// pattern.
std::optional<std::string_view> number_in(std::string_view name, std::string_view pattern) {
  const auto star = pattern.find(kNumber);
  if (star == std::string_view::npos)
    return name == pattern ? std::optional<std::string_view>("") : std::nullopt;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) ||
      !name.ends_with(after))
    return std::nullopt;
  const std::string_view number =
      name.substr(before.size(), name.size() - before.size() - after.size());
  const bool digits =
      std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits ? std::optional<std::string_view>(number) : std::nullopt;
}

std::string with_number(std::string name, std::string_view number) {
  if (const auto star = name.find(kNumber); star != std::string::npos)
    name.replace(star, 1, number);
  return name;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) {
  throw FileError(fmt::format("{}: {}", file, what));
}

bool has_one_number(const std::string& name) {
  return std::count(name.begin(), name.end(), kNumber) == 1;
}

std::vector<std::string> names_of(const Json& from, const std::string& file) {
  std::vector<std::string> names;
  if (from.is_string()) return {from.get<std::string>()};
  if (from.is_array()) {
    for (const Json& name : from) {
      if (!name.is_string()) refuse(file, "a name that is not a string: " + name.dump());
      names.push_back(name.get<std::string>());
    }
  }
  if (names.empty()) refuse(file, "not a tensor name or a list of tensor names: " + from.dump());
  return names;
}

bool bool_of(const Json& value, const std::string& file) {
  if (!value.is_boolean()) refuse(file, "neither true nor false: " + value.dump());
  return value.get<bool>();
}

Index row_of(const Json& value, const std::string& file) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 40;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > kLargest)
    refuse(file, "not a row number: " + value.dump());
  return value.get<Index>();
}

NameRule rule_of(const std::string& parameter, const Json& value, const std::string& file) {
  NameRule rule;
  rule.parameter = parameter;
  const std::string place = fmt::format("{}: '{}'", file, parameter);
  if (!value.is_object()) {
    rule.tensors = names_of(value, place);
  } else {
    for (const auto& [key, member] : value.items()) {
      if (key == "from") {
        rule.tensors = names_of(member, place);
      } else if (key == "transposed") {
        rule.transposed = bool_of(member, place);
      } else if (key == "first_row") {
        rule.first_row = row_of(member, place);
      } else if (key == "optional") {
        rule.optional = bool_of(member, place);
      } else {
        refuse(place,
               fmt::format("unknown key '{}'; known keys are from, transposed, first_row, optional",
                           key));
      }
    }
    if (rule.tensors.empty()) refuse(place, "'from' is missing");
  }
  const bool numbered = has_one_number(parameter);
  if (!numbered && parameter.find(kNumber) != std::string::npos) refuse(place, "more than one *");
  for (const std::string& tensor : rule.tensors) {
    if (tensor.find(kNumber) != std::string::npos && !(numbered && has_one_number(tensor))) {
      refuse(
          place,
          fmt::format("'{}' has a *: it and the parameter must each have exactly one *", tensor));
    }
  }
  return rule;
}

}  // namespace

NameMap bert_names() {
  constexpr Index kClsRow = 101;
  NameMap map;
  const auto add = [&](const std::string& parameter, const std::string& tensor) -> NameRule& {
    NameRule& rule = map.emplace_back();
    rule.parameter = parameter;
    rule.tensors = {"bert." + tensor, tensor};
    return rule;
  };
  const auto add_linear = [&](const std::string& ours, const std::string& theirs) {
    add(ours + ".weight", theirs + ".weight").transposed = true;
    add(ours + ".bias", theirs + ".bias");
  };
  const auto add_norm = [&](const std::string& ours, const std::string& theirs) {
    for (const auto& [own, older] : {std::pair{".weight", ".gamma"}, {".bias", ".beta"}}) {
      NameRule& rule = add(ours + own, theirs + own);
      rule.tensors.push_back("bert." + theirs + older);
      rule.tensors.push_back(theirs + older);
    }
  };
  add("embedding.token", "embeddings.word_embeddings.weight");
  add("embedding.position", "embeddings.position_embeddings.weight").first_row = 0;
  add("embedding.segment", "embeddings.token_type_embeddings.weight").first_row = 0;
  add("embedding.cls", "embeddings.word_embeddings.weight").first_row = kClsRow;
  add_norm("embedding.norm", "embeddings.LayerNorm");
  for (const std::string part : {"query", "key", "value"})
    add_linear("block*.attention." + part, "encoder.layer.*.attention.self." + part);
  add_linear("block*.attention.output", "encoder.layer.*.attention.output.dense");
  add_norm("block*.norm1", "encoder.layer.*.attention.output.LayerNorm");
  add_linear("block*.feed_forward.hidden", "encoder.layer.*.intermediate.dense");
  add_linear("block*.feed_forward.output", "encoder.layer.*.output.dense");
  add_norm("block*.norm2", "encoder.layer.*.output.LayerNorm");
  add_linear("pooler", "pooler.dense");
  map.push_back({"head.weight", {"classifier.weight"}, true, std::nullopt, true});
  map.push_back({"head.bias", {"classifier.bias"}, false, std::nullopt, true});
  return map;
}

NameMap parse_name_map(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse(name, "is not JSON");
  if (!json.is_object() || json.empty()) {
    refuse(name, "is not a JSON object with a member for each parameter");
  }
  NameMap map;
  for (const auto& [parameter, value] : json.items())
    map.push_back(rule_of(parameter, value, name));
  return map;
}

NameMap read_name_map(const std::string& path) {
  return parse_name_map(read_all(path).view(), display_name(path));
}

std::optional<NameRule> rule_for(const NameMap& map, std::string_view parameter) {
  for (const NameRule& rule : map) {
    const auto number = number_in(parameter, rule.parameter);
    if (!number) continue;
    NameRule filled = rule;
    filled.parameter = parameter;
    for (std::string& tensor : filled.tensors) tensor = with_number(tensor, *number);
    return filled;
  }
  return std::nullopt;
}

}  // namespace matapprox::training
