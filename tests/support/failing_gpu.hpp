#pragma once

#include "device/chord_objective.hpp"

namespace matapprox::test {

/// Makes objectives of host_gpu_objective that are lost, memory and all, from call number `calls`
/// of theirs and their memory's on: each further call throws NotAvailable, but for releasing
/// memory.
ChordObjectiveMaker failing_gpu(Index calls);

}  // namespace matapprox::test
