#pragma once

#include "device/block_workers.hpp"
#include "mpi/leader.hpp"

namespace matapprox::mpi {

/// A blocks::BlockWorker on each process, made from `setup`. Requests and answers go from and to
/// the leader; each process works with its own threads. Throws NotAvailable where a process has no
/// memory.
std::unique_ptr<const BlockWorkers> make_block_workers(std::shared_ptr<Leader> leader,
                                                       const MessageBytes& setup);

/// Each process gets its own of the leader's messages, which are null elsewhere. Called by all
/// together; throws AgreedFailure where a process has no memory.
MessageBytes deal_messages(const Process& process, const std::vector<MessageBytes>* messages);

/// The leader gets the message of each process. Throws likewise.
std::vector<MessageBytes> collect_messages(const Process& process, const MessageBytes& own);

}  // namespace matapprox::mpi
