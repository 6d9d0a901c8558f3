#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/block_workers.hpp"
#include "methods/hierarchical/encoder.hpp"

namespace matapprox::blocks {

/// Distributes the work on the nodes of a tree over workers on several ranks. Nodes are independent
/// of each other, so the results are bitwise equal to those of one rank. Each worker gets about the
/// same number of nodes of a request, scattered over the matrix.
class DistributedNodes {
 public:
  explicit DistributedNodes(std::unique_ptr<const BlockWorkers> workers)
      : workers_(std::move(workers)) {}

  /// Runs RateDistortion::choose_own() for each, below its limit. Throws what BlockWorkers::ask()
  /// throws.
  void choose(const std::vector<Node*>& nodes, const std::vector<double>& limits, double price);
  /// Runs encode_node() for each; results in the same order. Throws likewise.
  std::vector<EncodedNode> encode(const std::vector<const Node*>& nodes);

 private:
  std::size_t next_worker();

  std::unique_ptr<const BlockWorkers> workers_;
  Index distributed_ = 0;
  std::map<const Node*, std::size_t> encoders_;  ///< the worker of each node that was encoded
};

}  // namespace matapprox::blocks
