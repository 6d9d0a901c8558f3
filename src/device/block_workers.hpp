#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// What one process tells another one of the same program.
using MessageBytes = std::vector<std::byte>;

/// Workers for the blocks of a hierarchical fit, one on each of several processes, this one among
/// them. What requests and answers mean is known to the method (blocks::BlockWorker) alone.
class BlockWorkers {
 public:
  virtual ~BlockWorkers() = default;
  BlockWorkers(const BlockWorkers&) = delete;
  BlockWorkers(BlockWorkers&&) = delete;
  BlockWorkers& operator=(const BlockWorkers&) = delete;
  BlockWorkers& operator=(BlockWorkers&&) = delete;

  virtual int count() const = 0;
  /// Worker p answers requests[p], one for each of them, all at the same time; the answers come in
  /// the same order. Throws the error of the first worker that fails, as the type that it was,
  /// after which all of them can be asked again, and Interrupted.
  virtual std::vector<MessageBytes> ask(const std::vector<MessageBytes>& requests) const = 0;

 protected:
  BlockWorkers() = default;
};

/// An operator that lies on several processes, each of which can have a worker.
class BlockWorkersSource {
 public:
  virtual ~BlockWorkersSource() = default;
  BlockWorkersSource(const BlockWorkersSource&) = delete;
  BlockWorkersSource(BlockWorkersSource&&) = delete;
  BlockWorkersSource& operator=(const BlockWorkersSource&) = delete;
  BlockWorkersSource& operator=(BlockWorkersSource&&) = delete;

  /// Made from `setup` on each process; null where this process is the only one.
  virtual std::unique_ptr<const BlockWorkers> block_workers(const MessageBytes& setup) const = 0;

 protected:
  BlockWorkersSource() = default;
};

}  // namespace matapprox
