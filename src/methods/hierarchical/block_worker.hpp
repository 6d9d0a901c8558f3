#pragma once

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "methods/hierarchical/encoder.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"
#include "methods/hierarchical/message.hpp"

namespace matapprox::blocks {

/// Work of a rank for the fit of a kernel matrix whose tree is on another rank: it makes the
/// choices for the nodes that it receives, and encodes them. Its answers are bitwise equal to what
/// the other rank would compute. Memory: all points, and the left vectors of the nodes that it
/// encoded.
class BlockWorker {
 public:
  /// Message that sets up a worker: the ordered points, and arguments of BlockTree and
  /// ContentChoices.
  static MessageBytes setup(const KernelBlocks& source,
                            const BlockTree& tree,
                            const ContentChoices& contents);
  /// Requests RateDistortion::choose_own() of each node, below its limit.
  static MessageBytes request_choices(const std::vector<const Node*>& nodes,
                                      const std::vector<double>& limits,
                                      double price);
  /// Updates these nodes, in the same order, from the answer.
  static void take_choices(const MessageBytes& answer, const std::vector<Node*>& nodes);
  /// Requests encode_node() of each node. A node goes to the same worker each time, which keeps the
  /// vectors that it computed for it.
  static MessageBytes request_encoded(const std::vector<const Node*>& nodes);
  static std::vector<EncodedNode> encoded(const MessageBytes& answer);

  explicit BlockWorker(std::span<const std::byte> setup);

  /// Answers a request, with all threads. Throws the errors of a source, NotAvailable if memory is
  /// short, and InvalidArgument for a malformed request.
  MessageBytes answer(std::span<const std::byte> request);

 private:
  explicit BlockWorker(MessageReader setup);
  MessageBytes choose(MessageReader& request);
  MessageBytes encode(MessageReader& request);

  std::unique_ptr<const KernelBlocks> source_;
  std::unique_ptr<BlockTree> tree_;
  std::unique_ptr<RateDistortion> choices_;
  /// Keys are first row, rows, first column and columns of a node.
  std::map<std::array<Index, 4>, LeftVectors> left_;
};

}  // namespace matapprox::blocks
