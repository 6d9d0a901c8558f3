#pragma once

#include "device/processes.hpp"
#include "mpi/leader.hpp"

namespace matapprox::mpi {

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
