#include "command_line/listing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace matapprox::app {

std::string option_lines(const Listed& listed) {
  std::string text = fmt::format("{}\n  {}\n\noptions\n", listed.name, listed.summary);
  for (const OptionText& option : listed.options) {
    text += fmt::format("  {:<26} {}\n", option.name, option.help);
    if (!option.choices.empty())
      text += fmt::format("  {:<26} one of {}\n", "", fmt::join(option.choices, ", "));
    if (!option.value.empty()) text += fmt::format("  {:<26} default {}\n", "", option.value);
  }
  return text;
}

report::Json to_json(const Listed& listed) {
  report::Json json = {
      {"name", listed.name}, {"summary", listed.summary}, {"options", report::Json::array()}};
  for (const OptionText& option : listed.options) {
    json["options"].push_back({{"name", option.name},
                               {"default", option.value},
                               {"help", option.help},
                               {"choices", option.choices}});
  }
  return json;
}

}  // namespace matapprox::app
