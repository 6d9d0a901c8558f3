#pragma once

#include "device/chord_objective.hpp"

namespace matapprox::test {

/// Makes objectives of host_gpu_objective whose GPU fails from call number `calls` on, counted over
/// the objective and its memory: each further call throws NotAvailable, except releasing memory.
ChordObjectiveMaker failing_gpu(Index calls);

}  // namespace matapprox::test
