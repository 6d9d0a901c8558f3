#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/options.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// A method, mechanism or task as shown by the listing subcommands.
struct Listed {
  std::string_view name;
  std::string_view summary;
  std::vector<OptionText> options;
};

/// Its options with help, allowed values and defaults.
std::string option_lines(const Listed& listed);
report::Json to_json(const Listed& listed);

}  // namespace matapprox::app
