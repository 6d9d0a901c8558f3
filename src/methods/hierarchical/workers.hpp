#pragma once

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/processes.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "methods/hierarchical/encoding.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"

namespace matapprox::blocks {

// ------------------------------------------------------------------------------------ Messages

/// Writes values one after the other in their memory representation, for ranks of one program on
/// CPUs of the same kind.
class MessageWriter {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof value);
  }
  /// Writes the number of values first.
  template <class T>
  void add_all(const T* values, Index count) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(count);
    append(values, static_cast<std::size_t>(count) * sizeof(T));
  }
  template <class T>
  void add_all(const std::vector<T>& values) {
    add_all(values.data(), std::ssize(values));
  }
  MessageBytes take() { return std::move(bytes_); }

 private:
  void append(const void* values, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), first, first + count);
  }

  MessageBytes bytes_;
};

/// Reads the values of a MessageWriter in the same order. Throws InvalidArgument if a message ends
/// too soon.
class MessageReader {
 public:
  /// Keeps a reference to the bytes.
  explicit MessageReader(std::span<const std::byte> bytes) : left_(bytes) {}

  bool at_end() const { return left_.empty(); }
  template <class T>
  T next() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, take(1, sizeof value), sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> next_all() {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto count = next<Index>();
    const std::byte* first = take(count, sizeof(T));
    std::vector<T> values(static_cast<std::size_t>(count));
    if (count > 0) std::memcpy(values.data(), first, values.size() * sizeof(T));
    return values;
  }

 private:
  const std::byte* take(Index count, std::size_t size) {
    const auto most = static_cast<Index>(left_.size() / size);
    require(count >= 0 && count <= most, "hierarchical: a message between processes is cut off");
    const std::byte* first = left_.data();
    left_ = left_.subspan(static_cast<std::size_t>(count) * size);
    return first;
  }

  std::span<const std::byte> left_;
};

// ------------------------------------------------------------------ Nodes on several processes

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

// ------------------------------------------------------------------------------------ A worker

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
