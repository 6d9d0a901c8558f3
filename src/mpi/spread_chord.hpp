#pragma once

#include <memory>

#include "matapprox/factors/chord_factors.hpp"
#include "mpi/leader.hpp"

namespace matapprox::mpi {

/// Returns a chain of Chord factors whose values remain distributed over all processes after a fit,
/// as a factor. Products are computed there, bit-identical to kernels::chord_apply. `values`: one
/// column of a RanksSpace with the layout chain_layout() of even rows. Throws NotAvailable if a
/// process runs out of memory.
PlacedChord spread_chord(const std::shared_ptr<Leader>& leader,
                         const ChordPattern& pattern,
                         std::shared_ptr<const MultiVector> values);

}  // namespace matapprox::mpi
