#include "methods/hierarchical/workers.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/memory.hpp"

namespace matapprox::blocks {

// ------------------------------------------------------------------ Nodes on several processes

namespace {

/// Largest number of nodes of one worker in one request: some tens of milliseconds of work, after
/// which a stop request is noticed.
constexpr std::size_t kMaxNodesOfRequest = 256;

/// Nodes of each worker, as indices into a list.
using Hands = std::vector<std::vector<std::size_t>>;

/// Calls function(part) with the next nodes of each worker until none are left.
template <class Function>
void for_parts(const Hands& hands, const Function& function) {
  std::size_t longest = 0;
  for (const auto& hand : hands) longest = std::max(longest, hand.size());
  for (std::size_t first = 0; first < longest; first += kMaxNodesOfRequest) {
    Hands part;
    for (const auto& hand : hands) {
      const std::size_t begin = std::min(first, hand.size());
      const std::size_t end = std::min(first + kMaxNodesOfRequest, hand.size());
      part.emplace_back(hand.begin() + static_cast<Index>(begin),
                        hand.begin() + static_cast<Index>(end));
    }
    function(part);
  }
}

template <class T>
std::vector<T> chosen(const auto& all, const std::vector<std::size_t>& numbers) {
  std::vector<T> result;
  result.reserve(numbers.size());
  for (const std::size_t k : numbers) result.push_back(all[k]);
  return result;
}

}  // namespace

/// The four children of a node are consecutive, and one of them is nearest to the diagonal.
/// Multiples of an irrational number, modulo 1, reach all workers evenly and out of step with that
/// pattern.
std::size_t DistributedNodes::next_worker() {
  const double place = 0.6180339887498949 * static_cast<double>(distributed_++);
  return static_cast<std::size_t>((place - std::floor(place)) * workers_->count());
}

void DistributedNodes::choose(const std::vector<Node*>& nodes,
                              const std::vector<double>& limits,
                              double price) {
  Hands hands(static_cast<std::size_t>(workers_->count()));
  for (std::size_t k = 0; k < nodes.size(); ++k) hands[next_worker()].push_back(k);
  for_parts(hands, [&](const Hands& part) {
    std::vector<MessageBytes> requests;
    for (const auto& hand : part) {
      requests.push_back(BlockWorker::request_choices(
          chosen<const Node*>(nodes, hand), chosen<double>(limits, hand), price));
    }
    const std::vector<MessageBytes> answers = workers_->ask(requests);
    for (std::size_t p = 0; p < part.size(); ++p) {
      BlockWorker::take_choices(answers[p], chosen<Node*>(nodes, part[p]));
    }
  });
}

std::vector<EncodedNode> DistributedNodes::encode(const std::vector<const Node*>& nodes) {
  Hands hands(static_cast<std::size_t>(workers_->count()));
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    const auto [encoder, is_new] = encoders_.emplace(nodes[k], 0);
    if (is_new) encoder->second = next_worker();
    hands[encoder->second].push_back(k);
  }
  std::vector<EncodedNode> encoded(nodes.size());
  for_parts(hands, [&](const Hands& part) {
    std::vector<MessageBytes> requests;
    for (const auto& hand : part) {
      requests.push_back(BlockWorker::request_encoded(chosen<const Node*>(nodes, hand)));
    }
    const std::vector<MessageBytes> answers = workers_->ask(requests);
    for (std::size_t p = 0; p < part.size(); ++p) {
      std::vector<EncodedNode> of_worker = BlockWorker::encoded(answers[p]);
      for (std::size_t k = 0; k < part[p].size(); ++k) {
        encoded[part[p][k]] = std::move(of_worker.at(k));
      }
    }
  });
  return encoded;
}

// ------------------------------------------------------------------------------------ A worker

namespace {

enum class Work { kChoose, kEncode };

void add_node(const Node& node, MessageWriter& message) {
  message.add(static_cast<const NodeState&>(node));
  message.add_all(node.squares.data(), node.squares.size());
  message.add(node.sizes != nullptr);
  if (node.sizes != nullptr) message.add(*node.sizes);
}

void read_node(MessageReader& message, Node& node) {
  static_cast<NodeState&>(node) = message.next<NodeState>();
  const auto squares = message.next_all<double>();
  node.set_squares(Vector::Map(squares.data(), std::ssize(squares)));
  node.sizes.reset();
  if (message.next<bool>()) node.sizes = std::make_unique<EntrySizes>(message.next<EntrySizes>());
}

void add_leaf(const std::optional<EncodedLeaf>& leaf, MessageWriter& message) {
  message.add(leaf.has_value());
  if (!leaf) return;
  message.add(leaf->leaf);
  message.add_all(leaf->bits);
  message.add_all(leaf->scales);
  message.add_all(leaf->data);
  message.add(leaf->squared_error);
}

std::optional<EncodedLeaf> next_leaf(MessageReader& message) {
  if (!message.next<bool>()) return std::nullopt;
  EncodedLeaf leaf;
  leaf.leaf = message.next<BlockLeaf>();
  leaf.bits = message.next_all<std::uint8_t>();
  leaf.scales = message.next_all<std::uint16_t>();
  leaf.data = message.next_all<std::uint8_t>();
  leaf.squared_error = message.next<double>();
  return leaf;
}

KernelOperator next_kernel(MessageReader& message) {
  const auto options = message.next<KernelOptions>();
  const auto dimension = message.next<Index>();
  const auto values = message.next_all<double>();
  return KernelOperator(Matrix::Map(values.data(), std::ssize(values) / dimension, dimension),
                        options);
}

}  // namespace

MessageBytes BlockWorker::setup(const KernelBlocks& source,
                                const BlockTree& tree,
                                const ContentChoices& contents) {
  MessageWriter message;
  message.add(tree.leaf());
  message.add(tree.seed());
  message.add(contents.leaf_bytes());
  message.add_all(contents.widths());
  const Matrix& points = source.kernel().points();
  message.add(source.kernel().options());
  message.add(points.cols());
  message.add_all(points.data(), points.size());
  return message.take();
}

BlockWorker::BlockWorker(std::span<const std::byte> setup) : BlockWorker(MessageReader(setup)) {}

BlockWorker::BlockWorker(MessageReader setup) {
  const auto leaf = setup.next<Index>();
  const auto seed = setup.next<std::uint64_t>();
  const auto leaf_bytes = setup.next<double>();
  auto widths = setup.next_all<int>();
  source_ = std::make_unique<const KernelBlocks>(
      next_kernel(setup), std::span<const Index>(), leaf, seed);
  tree_ = std::make_unique<BlockTree>(*source_, leaf, seed);
  choices_ = std::make_unique<RateDistortion>(*tree_, std::move(widths), leaf_bytes);
}

MessageBytes BlockWorker::request_choices(const std::vector<const Node*>& nodes,
                                          const std::vector<double>& limits,
                                          double price) {
  MessageWriter message;
  message.add(Work::kChoose);
  message.add(price);
  message.add_all(limits);
  for (const Node* node : nodes) add_node(*node, message);
  return message.take();
}

MessageBytes BlockWorker::choose(MessageReader& request) {
  const auto price = request.next<double>();
  const auto limits = request.next_all<double>();
  std::vector<Node> nodes(limits.size());
  for (Node& node : nodes) read_node(request, node);
  choices_->choose_apart(nodes, limits, price);
  MessageWriter answer;
  for (const Node& node : nodes) add_node(node, answer);
  return answer.take();
}

void BlockWorker::take_choices(const MessageBytes& answer, const std::vector<Node*>& nodes) {
  MessageReader message(answer);
  for (Node* node : nodes) {
    const std::size_t shape = node->shape;  // each rank numbers its shapes itself
    read_node(message, *node);
    node->shape = shape;
  }
}

MessageBytes BlockWorker::request_encoded(const std::vector<const Node*>& nodes) {
  MessageWriter message;
  message.add(Work::kEncode);
  message.add(std::ssize(nodes));
  for (const Node* node : nodes) add_node(*node, message);
  return message.take();
}

MessageBytes BlockWorker::encode(MessageReader& request) {
  std::vector<Node> nodes(static_cast<std::size_t>(request.next<Index>()));
  std::vector<LeftVectors*> known;
  for (Node& node : nodes) {
    read_node(request, node);
    known.push_back(&left_[{node.row, node.rows, node.column, node.columns}]);
    node.left = std::move(*known.back());
  }
  choices_->find_shapes(nodes);
  std::vector<EncodedNode> encoded(nodes.size());
  parallel_for(std::ssize(nodes), [&](Index k) {
    const auto at = static_cast<std::size_t>(k);
    encoded[at] = encode_node(*tree_, *choices_, nodes[at]);
  });
  MessageWriter answer;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    *known[k] = std::move(nodes[k].left);
    add_leaf(encoded[k].leaf, answer);
    add_leaf(encoded[k].remainder, answer);
    answer.add(encoded[k].squared_error);
  }
  return answer.take();
}

std::vector<EncodedNode> BlockWorker::encoded(const MessageBytes& answer) {
  std::vector<EncodedNode> nodes;
  for (MessageReader message(answer); !message.at_end();) {
    EncodedNode& node = nodes.emplace_back();
    node.leaf = next_leaf(message);
    node.remainder = next_leaf(message);
    node.squared_error = message.next<double>();
  }
  return nodes;
}

MessageBytes BlockWorker::answer(std::span<const std::byte> request) {
  if (request.empty()) return {};
  MessageReader message(request);
  return message.next<Work>() == Work::kChoose ? choose(message) : encode(message);
}

}  // namespace matapprox::blocks
