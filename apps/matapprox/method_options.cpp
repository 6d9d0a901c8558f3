#include "method_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "matapprox/core/error.hpp"

namespace matapprox::app {
namespace {

std::vector<GroupedFlags::Group> all_methods() {
  std::vector<GroupedFlags::Group> groups;
  for (const Method& method : methods())
    groups.push_back({std::string(method.name), method.options()});
  return groups;
}

}  // namespace

void check_method_names(const std::vector<std::string>& names,
                        const std::vector<std::string>& legal) {
  for (const std::string& name : names) {
    if (std::find(legal.begin(), legal.end(), name) != legal.end()) continue;
    const std::string nearest = nearest_name(name, legal);
    throw InvalidArgument(
        fmt::format("unknown method '{}'{}; the methods are {}",
                    name,
                    nearest.empty() ? "" : fmt::format(", did you mean '{}'?", nearest),
                    fmt::join(legal, ", ")));
  }
}

MethodOptions::MethodOptions() : flags_(all_methods()) {}

void MethodOptions::add(const Command& command) {
  command.add_option("method", name_, "Name of a method; `matapprox methods` lists all")
      .required()
      .type_name("METHOD");
  // Every subcommand adds these itself.
  flags_.add(command, "methods", "method", {"rank", "budget", "seed"});
}

NamedOptions MethodOptions::given(const Method& method) const {
  return flags_.given(std::string(method.name));
}

}  // namespace matapprox::app
