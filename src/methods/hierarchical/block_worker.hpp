#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "methods/hierarchical/encoder.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"
#include "methods/hierarchical/message.hpp"

namespace matapprox::blocks {

/// What a process does for the fit of a kernel matrix of points whose tree another process has: it
/// looks at nodes that it is sent, and encodes them. What it answers has the bits of the other
/// process's own work. Memory: all points, and the left vectors of the nodes that it encoded.
class BlockWorker {
 public:
  /// What a worker is made from: the points in order, and what BlockTree and ContentChoices take.
  static MessageBytes setup(const KernelBlocks& source,
                            const BlockTree& tree,
                            const ContentChoices& contents);
  /// RateDistortion::choose_own() of each node below its limit.
  static MessageBytes request_choices(const std::vector<const Node*>& nodes,
                                      const std::vector<double>& limits,
                                      double price);
  /// Takes what these nodes have become, in the same order.
  static void take_choices(const MessageBytes& answer, const std::vector<Node*>& nodes);
  /// encode_node() of each. A node goes to the same worker each time: that one remembers the
  /// vectors that it found for it.
  static MessageBytes request_encoded(const std::vector<const Node*>& nodes);
  static std::vector<EncodedNode> encoded(const MessageBytes& answer);

  explicit BlockWorker(std::span<const std::byte> setup);

  /// All threads. Throws what a source throws, NotAvailable where memory is short, and
  /// InvalidArgument for a request that is none.
  MessageBytes answer(std::span<const std::byte> request);

 private:
  explicit BlockWorker(MessageReader setup);
  MessageBytes choose(MessageReader& request);
  MessageBytes encode(MessageReader& request);

  std::unique_ptr<const KernelBlocks> source_;
  std::unique_ptr<BlockTree> tree_;
  std::unique_ptr<RateDistortion> choices_;
  /// By first row, rows, first column and columns of a node.
  std::map<std::array<Index, 4>, LeftVectors> left_;
};

}  // namespace matapprox::blocks
