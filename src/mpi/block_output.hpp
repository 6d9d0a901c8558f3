#pragma once

#include <cstdint>
#include <optional>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Each process writes its rows of a block into one file, see MemorySpace::write_to_file, and waits
/// for the disk. All processes call it together; `place` is the same on all. The leader gets the
/// checksum of the whole; nothing, on all, unless all processes see the leader's file under its
/// name. Throws AgreedFailure. Memory: 2 MB a process.
std::optional<std::uint32_t> write_block(const Process& process,
                                         const Layout& layout,
                                         const ConstMultiVectorView& own,
                                         const FilePlace& place);

}  // namespace matapprox::mpi
