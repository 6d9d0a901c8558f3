#include "matapprox/core/run_control.hpp"

#include <fmt/format.h>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

template <class Value>
const Value& named(const std::vector<std::pair<std::string, Value>>& list,
                   const std::string& name) {
  for (const auto& [key, value] : list) {
    if (key == name) return value;
  }
  throw FileError(fmt::format("resume state: no entry named '{}'", name));
}

}  // namespace

const Vector& ResumeState::array(const std::string& name) const { return named(arrays, name); }
Index ResumeState::counter(const std::string& name) const { return named(counters, name); }

double StopControl::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void RunControl::throw_if_stopped(const char* method) const {
  if (interrupted())
    throw Interrupted(fmt::format("{}: interrupted before it had a result", method));
  if (out_of_time()) {
    throw Interrupted(fmt::format("{}: no result within {:g} seconds", method, max_seconds));
  }
}

}  // namespace matapprox
