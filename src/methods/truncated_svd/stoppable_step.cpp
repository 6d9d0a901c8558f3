#include "methods/truncated_svd/stoppable_step.hpp"

#include "core/stop_scope.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {

std::optional<bool> step_unless_stopped(KrylovSpace& space, const RunControl& control) {
  try {
    const StopScope scope(control, "truncated_svd");
    return space.step();
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

}  // namespace matapprox
