#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/block_workers.hpp"
#include "methods/hierarchical/encoder.hpp"

namespace matapprox::blocks {

/// The work on the nodes of a tree, dealt to workers on several processes. Nodes are independent of
/// each other, so the results have the bits of one process. Of all nodes of a request each worker
/// has about as many, scattered over the matrix.
class DealtNodes {
 public:
  explicit DealtNodes(std::unique_ptr<const BlockWorkers> workers) : workers_(std::move(workers)) {}

  /// RateDistortion::choose_own() of each below its limit. Throws as BlockWorkers::ask().
  void choose(const std::vector<Node*>& nodes, const std::vector<double>& limits, double price);
  /// encode_node() of each, in the same order. Throws likewise.
  std::vector<EncodedNode> encode(const std::vector<const Node*>& nodes);

 private:
  std::size_t next_worker();

  std::unique_ptr<const BlockWorkers> workers_;
  Index dealt_ = 0;
  std::map<const Node*, std::size_t> encoders_;  ///< the worker of each node that was encoded
};

}  // namespace matapprox::blocks
