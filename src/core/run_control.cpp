#include "matapprox/core/run_control.hpp"

#include <fmt/format.h>

#include "matapprox/core/error.hpp"

namespace matapprox {
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
