#include "matapprox/core/run_control.hpp"

#include <fmt/format.h>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"

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

void ResumeState::add_matrix(const std::string& name, const Matrix& values) {
  arrays.emplace_back(name, values.reshaped());
  counters.emplace_back(name + "_rows", values.rows());
  counters.emplace_back(name + "_cols", values.cols());
}

Matrix ResumeState::matrix(const std::string& name) const {
  const Vector& values = array(name);
  const Index rows = counter(name + "_rows");
  const Index cols = counter(name + "_cols");
  const bool fit =
      rows >= 0 && cols >= 0 &&
      (values.size() == 0 ? rows == 0 || cols == 0
                          : cols > 0 && values.size() % cols == 0 && values.size() / cols == rows);
  require(fit, "resume state: '{}' has {} numbers, not {} x {}", name, values.size(), rows, cols);
  return values.reshaped(rows, cols);
}

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
