#include "method_options.hpp"

namespace matapprox::app {
namespace {

std::vector<OwnedFlags::Owner> all_methods() {
  std::vector<OwnedFlags::Owner> owners;
  for (const Method& method : methods())
    owners.push_back({std::string(method.name), method.options()});
  return owners;
}

}  // namespace

MethodOptions::MethodOptions() : flags_(all_methods()) {}

void MethodOptions::add(const Command& command) {
  command.add_option("method", name_, "One of those that `matapprox methods` lists")
      .required()
      .type_name("METHOD");
  // Every subcommand has these by itself.
  flags_.add(command, "Options of the methods", "method", {"rank", "budget", "seed"});
}

NamedOptions MethodOptions::given(const Method& method) const {
  return flags_.given(std::string(method.name));
}

}  // namespace matapprox::app
