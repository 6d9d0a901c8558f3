#pragma once

#include "device/chord_objective.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// `chord`, with the GPU's objective made by `on_gpu` where control.on_device.
///
/// If the GPU fails after the first step, or with control.on_device a process has no memory, the
/// fit goes on on the CPU of this process from the last state that was kept on the host, ten
/// seconds old or not much more, and the message says so.
///
/// Values that came about over several processes stay there (PlacedChord).
Approximation fit_chord(const LinearOperator& A,
                        const ChordOptions& options,
                        const RunControl& control,
                        const ChordObjectiveMaker& on_gpu);

/// Throws NotAvailable, naming the CMake option, for the solver of a build that this one is not.
void require_solver(ChordSolver solver, bool has_ceres);

}  // namespace matapprox::chord_fit
