#pragma once

#include <memory>

#include "device/chord_objective.hpp"
#include "mpi/leader.hpp"

namespace matapprox::mpi {

/// The objective of a Chord fit over all processes: kernels::chord_objective to the bit, with the
/// values, the gradient and all panels by rows. Columns of a sparse matrix in its own order are
/// made where its rows lie; of others the leader asks `target.columns`, a panel at a time, from the
/// caller's thread, and deals it. Throws NotAvailable where a process has no memory.
std::unique_ptr<DeviceChordObjective> make_spread_chord_objective(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

/// The same for a fit to a matrix that lies on all processes; null where one process does it
/// sooner, or is the only one.
std::unique_ptr<DeviceChordObjective> chord_objective_if_worth_it(std::shared_ptr<Leader> leader,
                                                                  const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target);

}  // namespace matapprox::mpi
