#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// Distributes an operator over a program's processes; returns null if its kind stays on the first.
using SpreadOverProcesses = std::function<std::shared_ptr<const LinearOperator>(
    const std::shared_ptr<const LinearOperator>& A)>;

/// Sets the function that place() calls for operators on the CPU; null, the default, if the program
/// runs on one process. Must not be called while another thread places an operator.
void set_spread_over_processes(SpreadOverProcesses spread);

/// A message between processes of the same program.
using MessageBytes = std::vector<std::byte>;

/// Workers for the blocks of a hierarchical fit, one on each of several processes including this
/// one. Only the method (blocks::BlockWorker) interprets the requests and answers.
class BlockWorkers {
 public:
  virtual ~BlockWorkers() = default;
  BlockWorkers(const BlockWorkers&) = delete;
  BlockWorkers(BlockWorkers&&) = delete;
  BlockWorkers& operator=(const BlockWorkers&) = delete;
  BlockWorkers& operator=(BlockWorkers&&) = delete;

  virtual int count() const = 0;
  /// Sends requests[p] to worker p; all workers run at the same time. Returns the answers in the
  /// same order. Throws Interrupted, or the error of the first worker that fails, with its original
  /// type; all workers accept further requests after that.
  virtual std::vector<MessageBytes> ask(const std::vector<MessageBytes>& requests) const = 0;

 protected:
  BlockWorkers() = default;
};

/// An operator that is distributed over several processes, each of which can have a worker.
class BlockWorkersSource {
 public:
  virtual ~BlockWorkersSource() = default;
  BlockWorkersSource(const BlockWorkersSource&) = delete;
  BlockWorkersSource(BlockWorkersSource&&) = delete;
  BlockWorkersSource& operator=(const BlockWorkersSource&) = delete;
  BlockWorkersSource& operator=(BlockWorkersSource&&) = delete;

  /// Creates workers from `setup` on each process; returns null if this process is the only one.
  virtual std::unique_ptr<const BlockWorkers> block_workers(const MessageBytes& setup) const = 0;

 protected:
  BlockWorkersSource() = default;
};

/// Returns A, possibly wrapped in a CountedOperator, as a ChordObjectiveSource or
/// BlockWorkersSource; null if it is none.
template <class Source>
const Source* source_of(const LinearOperator& A) {
  const CountedOperator* counter = counter_of(A);
  return dynamic_cast<const Source*>(counter == nullptr ? &A : &counter->inner());
}

}  // namespace matapprox
