#include "method_options.hpp"

namespace matapprox::app {
namespace {

std::vector<GroupedFlags::Group> all_methods() {
  std::vector<GroupedFlags::Group> groups;
  for (const Method& method : methods())
    groups.push_back({std::string(method.name), method.options()});
  return groups;
}

}  // namespace

MethodOptions::MethodOptions() : flags_(all_methods()) {}

void MethodOptions::add(const Command& command) {
  command.add_option("method", name_, "One of those that `matapprox methods` lists")
      .required()
      .type_name("METHOD");
  // Every subcommand has these by itself.
  flags_.add(command, "methods", "method", {"rank", "budget", "seed"});
}

NamedOptions MethodOptions::given(const Method& method) const {
  return flags_.given(std::string(method.name));
}

}  // namespace matapprox::app
