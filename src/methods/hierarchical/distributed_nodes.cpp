#include "methods/hierarchical/distributed_nodes.hpp"

#include <algorithm>
#include <cmath>

#include "methods/hierarchical/block_worker.hpp"

namespace matapprox::blocks {
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

}  // namespace matapprox::blocks
