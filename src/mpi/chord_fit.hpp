#pragma once

#include <memory>

#include "device/chord_objective.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "mpi/leader.hpp"

namespace matapprox::mpi {

/// Creates the objective of a Chord fit that is distributed over all processes: bit-identical to
/// kernels::chord_objective, with the values, the gradient and all panels distributed by rows. The
/// columns of a sparse matrix in its own order are formed by the processes that have its rows. For
/// other matrices, the leader calls `target.columns` for one panel at a time, in the caller's
/// thread, and scatters the panel. Throws NotAvailable if a process runs out of memory.
std::unique_ptr<DeviceChordObjective> make_spread_chord_objective(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

/// The same for a fit to a matrix that is distributed over all processes. Returns null if a single
/// process is faster or if there is only one.
std::unique_ptr<DeviceChordObjective> chord_objective_if_worth_it(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

/// Returns a chain of Chord factors whose values remain distributed over all processes after a fit,
/// as a factor. Products are computed there, bit-identical to kernels::chord_apply. `values`: one
/// column of a RanksSpace with the layout chain_layout() of even rows. Throws NotAvailable if a
/// process runs out of memory.
PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values);

}  // namespace matapprox::mpi
