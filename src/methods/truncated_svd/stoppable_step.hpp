#pragma once

#include <optional>

#include "matapprox/core/run_control.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {

/// One step of the space, which a request to stop ends within a piece of its product. Whether the
/// space grew; nothing if it was stopped, and the space is then as it was before.
std::optional<bool> step_unless_stopped(KrylovSpace& space, const RunControl& control);

}  // namespace matapprox
