#include "matapprox/core/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numeric>

#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

template <class Number>
Number parse_number(std::string_view option, std::string_view text, const char* what) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole_text = end == text.data() + text.size();
  require(!std::is_floating_point_v<Number> || failure != std::errc::result_out_of_range,
          "option {}: {} is beyond the range of doubles",
          option,
          text);
  require(failure != std::errc::result_out_of_range || !whole_text,
          "option {}: {} is outside {}..{}",
          option,
          text,
          std::numeric_limits<Number>::lowest(),
          std::numeric_limits<Number>::max());
  require(failure == std::errc() && whole_text, "option {}: '{}' is not {}", option, text, what);
  return value;
}

std::vector<Index> parse_list(std::string_view option, std::string_view text) {
  std::vector<Index> values;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    values.push_back(parse_number<Index>(
        option, text.substr(0, comma), "a comma-separated list of whole numbers"));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return values;
}

bool parse_bool(std::string_view option, std::string_view text) {
  const bool yes = text == "true" || text == "1" || text == "yes" || text == "on";
  const bool no = text == "false" || text == "0" || text == "no" || text == "off";
  require(yes || no, "option {}: '{}' is not true or false", option, text);
  return yes;
}

/// Minimum number of insertions, deletions, replacements and swaps of neighbors that turn a into b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

struct RenamedOption {
  std::string_view before;
  std::string_view now;
};

constexpr std::array<RenamedOption, 3> kRenamedOptions{{
    {"carry_scores", "residual_scores"},
    {"control", "tokenwise_baseline"},
    {"embedding_deviation", "embedding_init_std"},
}};

}  // namespace

void OptionLister::visit(std::string_view name, Index& value, std::string_view help) {
  add(name, fmt::format("{}", value), help, OptionType::kInteger);
}
void OptionLister::visit(std::string_view name, std::uint64_t& value, std::string_view help) {
  add(name, fmt::format("{}", value), help, OptionType::kInteger);
}
void OptionLister::visit(std::string_view name, double& value, std::string_view help) {
  add(name, fmt::format("{}", value), help, OptionType::kNumber);
}
void OptionLister::visit(std::string_view name, bool& value, std::string_view help) {
  add(name, value ? "true" : "false", help, OptionType::kFlag);
  options.back().choices = {"true", "false"};
}
void OptionLister::visit(std::string_view name, std::string& value, std::string_view help) {
  add(name, value, help, OptionType::kText);
}
void OptionLister::visit(std::string_view name, std::vector<Index>& value, std::string_view help) {
  add(name, fmt::format("{}", fmt::join(value, ",")), help, OptionType::kIntegers);
}
void OptionLister::visit(std::string_view name, StorageBudget& value, std::string_view help) {
  add(name, value.text(), help, OptionType::kBudget);
}
void OptionLister::visit_choice(std::string_view name,
                                int& value,
                                std::span<const std::string_view> names,
                                std::string_view help) {
  add(name, std::string(names[static_cast<std::size_t>(value)]), help, OptionType::kChoice);
  options.back().choices = {names.begin(), names.end()};
}
void OptionLister::add(std::string_view name,
                       std::string value,
                       std::string_view help,
                       OptionType type) {
  options.push_back({std::string(name), std::move(value), std::string(help), {}, type});
}

void OptionSetter::visit(std::string_view name, Index& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = parse_number<Index>(name, text_, "a whole number");
}
void OptionSetter::visit(std::string_view name, std::uint64_t& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = parse_number<std::uint64_t>(name, text_, "a whole number from 0 to 2^64 - 1");
}
void OptionSetter::visit(std::string_view name, double& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = parse_number<double>(name, text_, "a number");
}
void OptionSetter::visit(std::string_view name, bool& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = parse_bool(name, text_);
}
void OptionSetter::visit(std::string_view name, std::string& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = std::string(text_);
}
void OptionSetter::visit(std::string_view name,
                         std::vector<Index>& value,
                         std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  value = parse_list(name, text_);
}
void OptionSetter::visit(std::string_view name, StorageBudget& value, std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  const Precision precision = value.precision;
  value = text_.empty() ? StorageBudget{} : parse_budget(text_);
  if (value.precision == Precision::kDouble) value.precision = precision;
}
void OptionSetter::visit_choice(std::string_view name,
                                int& value,
                                std::span<const std::string_view> names,
                                std::string_view /*help*/) {
  if (name != name_) return;
  found = true;
  const auto chosen = std::find(names.begin(), names.end(), text_);
  require(chosen != names.end(),
          "option {}: '{}' is not one of {}",
          name,
          text_,
          fmt::join(names, ", "));
  value = static_cast<int>(chosen - names.begin());
}

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance <= best_distance && (best.empty() || distance < best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string> candidates) {
  const std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string present_name(std::string_view option) {
  const auto* const renamed =
      std::find_if(kRenamedOptions.begin(), kRenamedOptions.end(), [&](const RenamedOption& each) {
        return each.before == option;
      });
  return std::string(renamed == kRenamedOptions.end() ? option : renamed->now);
}

void check_names(std::string_view who,
                 const NamedOptions& named,
                 const std::vector<OptionText>& known) {
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const OptionText& option : known) names.push_back(option.name);
  for (const auto& [option, text] : named) {
    require(std::find(names.begin(), names.end(), option) != names.end(),
            "{}: there is no option '{}'{}",
            who,
            option,
            suggestion(option, names));
  }
}

}  // namespace matapprox
