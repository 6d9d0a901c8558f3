#pragma once

#include <cstdint>
#include <optional>

#include "device/processes.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "mpi/leader.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Writes a distributed block into one file: each process writes its rows and waits for the disk;
/// see MemorySpace::write_to_file. All processes call it together; `place` is the same on all.
/// Returns the checksum of the whole block on the leader. Returns nothing, on all, unless all see
/// the leader's file under its name. Throws AgreedFailure. Memory: 2 MB per process.
std::optional<std::uint32_t> write_block(const Process& process,
                                         const Layout& layout,
                                         const ConstMultiVectorView& own,
                                         const FilePlace& place);

/// Creates a blocks::BlockWorker from `setup` on each process. The leader sends the requests and
/// receives the answers; each process works with its own threads. Throws NotAvailable if one runs
/// out of memory.
std::unique_ptr<const BlockWorkers> make_block_workers(std::shared_ptr<Leader> leader,
                                                       const MessageBytes& setup);

/// Sends each process its message of the leader's list; `messages` is null on the other processes.
/// Called by all together; throws AgreedFailure if a process runs out of memory.
MessageBytes deal_messages(const Process& process, const std::vector<MessageBytes>* messages);

/// Collects the message of each process on the leader. Throws likewise.
std::vector<MessageBytes> collect_messages(const Process& process, const MessageBytes& own);

}  // namespace matapprox::mpi
