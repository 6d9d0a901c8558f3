#pragma once

#include "device/chord_objective.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// Implements `chord`; `on_gpu` makes the GPU's objective if control.on_device.
///
/// If the GPU fails after the first step, or with control.on_device a process runs out of memory,
/// the fit continues on the CPU of this process from the last state stored on the host, which is
/// about ten seconds old unless storing is slow, and the message says so.
///
/// Values computed on several processes remain there (PlacedChord).
Approximation fit_chord(const LinearOperator& A,
                        const ChordOptions& options,
                        const RunControl& control,
                        const ChordObjectiveMaker& on_gpu);

/// Throws NotAvailable, naming the CMake option, if this build does not include the solver.
void require_solver(ChordSolver solver, bool has_ceres);

}  // namespace matapprox::chord_fit
