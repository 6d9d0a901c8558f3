#pragma once

#include <cstdint>
#include <optional>

#include "io/positioned_write.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Writes a distributed block into one file: each process writes its rows and waits for the disk;
/// see BlockWriter::write_to_file. All processes call it together; `place` is the same on all.
/// Returns the checksum of the whole block on the leader. Returns nothing, on all, unless all see
/// the leader's file under its name. Throws AgreedFailure. Memory: 2 MB per process.
std::optional<std::uint32_t> write_block(const Process& process,
                                         const Layout& layout,
                                         const ConstMultiVectorView& own,
                                         const FilePlace& place);

}  // namespace matapprox::mpi
