#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Names of the enumerators of an option; specialized next to each such enum:
///   template <> struct EnumNames<Sampling> {
///     static constexpr std::array<std::string_view, 2> values{"uniform", "leverage"};
///   };
/// in the order of the enumerators, which count from 0.
template <class Enum>
struct EnumNames;

template <>
struct EnumNames<Precision> {
  static constexpr std::array<std::string_view, 5> values{
      "double", "float", "float16", "bfloat16", "packed"};
};

/// Returns the name of an enumerator.
template <class Enum>
std::string_view enum_name(Enum value) {
  return EnumNames<Enum>::values[static_cast<std::size_t>(value)];
}

/// Visits each member of an options struct with its name (snake_case) and help text. One visit
/// function per struct feeds the command line, the saved files and the messages.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void visit(std::string_view name, Index& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, std::uint64_t& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, double& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, bool& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, std::string& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, std::vector<Index>& value, std::string_view help) = 0;
  virtual void visit(std::string_view name, StorageBudget& value, std::string_view help) = 0;
  /// Visits an enumeration; `value` is an index into `names`.
  virtual void visit_choice(std::string_view name,
                            int& value,
                            std::span<const std::string_view> names,
                            std::string_view help) = 0;

  template <class Enum>
  void visit_enum(std::string_view name, Enum& value, std::string_view help) {
    int index = static_cast<int>(value);
    visit_choice(name, index, EnumNames<Enum>::values, help);
    value = static_cast<Enum>(index);
  }
};

/// Type of an option's value.
enum class OptionType { kText, kInteger, kNumber, kFlag, kIntegers, kBudget, kChoice };

template <>
struct EnumNames<OptionType> {
  static constexpr std::array<std::string_view, 7> values{
      "text", "integer", "number", "flag", "integers", "budget", "choice"};
};

/// An option as text: name, value, default, help and, for an enumeration, the legal values.
struct OptionText {
  std::string name;
  std::string value;
  std::string help;
  std::vector<std::string> choices;
  OptionType type = OptionType::kText;  ///< not saved
};

/// Lists options as text.
class OptionLister final : public OptionVisitor {
 public:
  std::vector<OptionText> options;
  void visit(std::string_view name, Index& value, std::string_view help) override;
  void visit(std::string_view name, std::uint64_t& value, std::string_view help) override;
  void visit(std::string_view name, double& value, std::string_view help) override;
  void visit(std::string_view name, bool& value, std::string_view help) override;
  void visit(std::string_view name, std::string& value, std::string_view help) override;
  void visit(std::string_view name, std::vector<Index>& value, std::string_view help) override;
  void visit(std::string_view name, StorageBudget& value, std::string_view help) override;
  void visit_choice(std::string_view name,
                    int& value,
                    std::span<const std::string_view> names,
                    std::string_view help) override;

 private:
  void add(std::string_view name, std::string value, std::string_view help, OptionType type);
};

/// Sets one option from text; `found` tells whether the struct has the option. Throws
/// InvalidArgument, naming the option, the text and the legal values, if the text is not legal.
class OptionSetter final : public OptionVisitor {
 public:
  OptionSetter(std::string_view option_name, std::string_view option_text)
      : name_(option_name), text_(option_text) {}
  bool found = false;
  void visit(std::string_view name, Index& value, std::string_view help) override;
  void visit(std::string_view name, std::uint64_t& value, std::string_view help) override;
  void visit(std::string_view name, double& value, std::string_view help) override;
  void visit(std::string_view name, bool& value, std::string_view help) override;
  void visit(std::string_view name, std::string& value, std::string_view help) override;
  void visit(std::string_view name, std::vector<Index>& value, std::string_view help) override;
  void visit(std::string_view name, StorageBudget& value, std::string_view help) override;
  void visit_choice(std::string_view name,
                    int& value,
                    std::span<const std::string_view> names,
                    std::string_view help) override;

 private:
  std::string_view name_;
  std::string_view text_;
};

/// Returns all options of a struct with their current values as text; an OptionSetter reads each
/// value back.
template <class Options>
std::vector<OptionText> list_options(Options options) {
  OptionLister lister;
  options.visit(lister);
  return std::move(lister.options);
}

/// Pairs of option name and text, as on the command line and in saved files.
using NamedOptions = std::vector<std::pair<std::string, std::string>>;

/// Throws InvalidArgument if one of the names is not among `known`; the message begins with `who`
/// and suggests the nearest name.
void check_names(std::string_view who,
                 const NamedOptions& named,
                 const std::vector<OptionText>& known);

/// Returns the current name of an option that was formerly named `option`; otherwise `option`
/// itself. Saved models and configuration files may contain old names.
std::string present_name(std::string_view option);

/// Returns the default options with the values of `named`. Throws InvalidArgument for a text that
/// is not legal.
template <class Options>
Options options_from(const NamedOptions& named) {
  Options options;
  for (const auto& [name, text] : named) {
    OptionSetter setter(name, text);
    options.visit(setter);
  }
  return options;
}

/// Returns the candidate nearest to `word` by edit distance, or an empty string if none is near.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);
/// Returns "; did you mean 'x'?" with that candidate, or an empty string.
std::string suggestion(std::string_view word, std::span<const std::string> candidates);

}  // namespace matapprox
