#include "methods/hierarchical/rate_distortion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include "matapprox/core/memory.hpp"
#include "methods/hierarchical/workers.hpp"

namespace matapprox::blocks {
namespace {

/// Number of singular triplets of the first search, and the factor by which it grows if they do not
/// suffice.
constexpr Index kFirstTriplets = 48;
constexpr Index kMoreTriplets = 2;
/// Largest number of searches of a node at one price; each doubles the number of triplets.
constexpr int kMaxSearchesOfNode = 64;
/// A few nodes of at least this side are handled in turn: their products use all threads.
constexpr Index kLargeNode = 512;
/// In a stored matrix, triplets of larger nodes are computed only after the cost of their children
/// is known, if at all.
constexpr Index kLateNode = 128;
/// The search for triplets ends when the known ones cost this many times the alternative, so that
/// nearby prices need no new search.
constexpr double kSurely = 1.25;
/// Up to this rank of a smooth block, no part of it has less than half the rank.
constexpr Index kNeverHalved = 3;
/// The extrapolation from at most this many triplets is doubtful: it rules out a node only if the
/// expected cost is kDoubt times too high.
constexpr Index kDoubtedTriplets = 16;
constexpr double kDoubt = 16;
/// Fraction of the squared error by which the errors may deviate from the expected ones.
constexpr double kWorthLearning = 0.05;
/// Most that rounding changes in the sum of the squares of a block, relative to that sum.
constexpr double kRoundingOfSquares = 1e-14;

/// Lower bounds of the singular values of two blocks without common rows or columns, descending.
Vector values_from_below(const std::array<const Node*, 2>& blocks) {
  const Vector& first = blocks[0]->square_bounds;
  const Vector& second = blocks[1]->square_bounds;
  Vector values(first.size() + second.size());
  std::merge(
      first.begin(), first.end(), second.begin(), second.end(), values.begin(), std::greater<>());
  return values.cwiseSqrt();
}

/// Upper bounds of the same, at most `count`. What the lower bounds leave of the energy of a block
/// may all belong to one square; unknown squares up to the k-th are at least as large as it.
Vector values_from_above(const std::array<const Node*, 2>& blocks, Index count) {
  std::vector<double> values;
  for (const Node* block : blocks) {
    const Vector& known = block->square_bounds;
    const double rest =
        std::max(block->energy - known.sum(), 0.0) + kRoundingOfSquares * block->energy;
    for (Index k = 0; k < std::min(count, block->smaller_side()); ++k) {
      values.push_back(k < known.size() ? known(k) + rest
                                        : rest / static_cast<double>(k - known.size() + 1));
    }
  }
  std::sort(values.begin(), values.end(), std::greater<>());
  values.resize(static_cast<std::size_t>(std::min(count, std::ssize(values))));
  return Vector::Map(values.data(), std::ssize(values)).cwiseSqrt();
}

/// Lower bounds of the squares of D + O, of two diagonal and two other blocks: singular value i is
/// at least value i + j of D minus value j of O, for every j (Weyl).
Vector bounds_of_sum(const std::array<const Node*, 2>& diagonal,
                     const std::array<const Node*, 2>& others) {
  const Vector large = values_from_below(diagonal);
  const Vector small = values_from_above(others, large.size());
  Vector bounds = Vector::Zero(large.size());
  for (Index j = 0; j < small.size(); ++j) {
    const Index count = large.size() - j;
    bounds.head(count) =
        bounds.head(count).cwiseMax((large.tail(count).array() - small(j)).matrix());
  }
  return bounds.cwiseMax(0.0).cwiseAbs2();
}

}  // namespace

RateDistortion::RateDistortion(BlockTree& tree, std::vector<int> widths, double leaf_bytes)
    : tree_(tree), contents_(tree, std::move(widths), leaf_bytes) {
  for (Level& level : tree_.levels()) {
    for (Node& node : level) contents_.find_shape(node);
  }
}

std::vector<int> RateDistortion::component_bits(const Node& node) const {
  std::vector<int> bits;
  for (Index k = 0; k < node.best.rank; ++k) {
    bits.push_back(contents_.triplet_width(node, node.squares(k), node.best.rank_price)->bits);
  }
  return bits;
}

/// True if more triplets than are known may make the low-rank choice cheaper than `other`.
bool RateDistortion::may_gain(const Node& node, double other) const {
  if (node.complete) return false;
  return tree_.source().exhaustive() ? held_may_gain(node, other) : computed_may_gain(node, other);
}

/// Lower bound of the low-rank cost, from the known squares. If the search ended because little was
/// left, the unknown squares can save no more than that. Otherwise each unknown square is at most
/// the last known one, and costs at least as much per unit of energy.
double RateDistortion::least_cost_by_found(const Node& node) const {
  const double rest = ContentChoices::unknown_energy(node);
  const double of_found =
      contents_.low_rank(node, price()).cost(price()) - tree_.weight(node) * rest;
  if (node.rest >= 0) return of_found;
  const double last = node.squares.size() > 0 ? node.squares(node.squares.size() - 1) : rest;
  const auto* width = contents_.triplet_width(node, last, price());
  if (width == nullptr) return of_found + tree_.weight(node) * rest;
  return of_found +
         rest / last * (tree_.weight(node) * last * width->noise + price() * width->bytes);
}

bool RateDistortion::held_may_gain(const Node& node, double other) const {
  const double least = contents_.square_cutoff(node);
  if (node.rest >= 0 && node.rest <= kNegligibleRest * least) return false;
  const bool none_matters =
      node.rest < 0 && node.squares.size() > 0 && node.squares(node.squares.size() - 1) <= least;
  return !none_matters && least_cost_by_found(node) < other;
}

/// No unknown triplet is worth its bytes if all of them together are not. If the search ended at
/// its limit of k triplets, their remainder T is expected to keep falling with the power q of k
/// with which it fell in the second half of the triplets. (The last values of a cross approximation
/// are less reliable: they are too small.) The next square is then q T / k, and triplets are
/// stored, in the fewest bits, down to the least one that is worth it.
bool RateDistortion::computed_may_gain(const Node& node, double other) const {
  const double least = contents_.square_cutoff(node);
  const double rest = ContentChoices::unknown_energy(node);
  const Index known = node.squares.size();
  if (rest <= least || known == node.smaller_side()) return false;
  const double of_triplet = price() * contents_.shape(node).cheapest_triplets;
  if (known == 0) return of_triplet < other;
  const double weight = tree_.weight(node);
  const Choice found = contents_.low_rank(node, price());
  const double of_found = found.rank == 0 ? 0 : found.cost(price()) - weight * rest;
  if (known < node.requested_rank) return least < node.asked_least && of_found + of_triplet < other;
  const double power = std::log2((node.tails(known / 2) + rest) / rest);
  const auto count = static_cast<double>(known);
  const double ratio = std::pow(std::max(power * rest / (count * least), 1.0), 1 / (power + 1));
  const double behind = weight * rest * std::pow(ratio, -power);
  const double doubt = known <= kDoubtedTriplets ? kDoubt : 1;
  return of_found + count * (ratio - 1) * of_triplet + behind < doubt * other;
}

/// Finds the best content without children, and more of the spectrum as long as that may bring the
/// cost below `limit`. Returns false, without a result, if the source is needed but `may_ask` is
/// false.
bool RateDistortion::choose_own(Node& node, double limit, bool may_ask) {
  const BlockSource& source = tree_.source();
  const double least = contents_.square_cutoff(node);
  if (!node.described) {
    if (!may_ask) return false;
    source.describe(node, least);
  }
  const bool late = source.exhaustive() && node.smaller_side() > kLateNode;
  const bool final = limit < std::numeric_limits<double>::infinity() || !tree_.divisible(node) ||
                     (source.exhaustive() && !late);
  const Choice nothing = contents_.nothing(node);
  node.own = nothing;
  node.least_cost = nothing.squared_error;
  if (nothing.squared_error <= price() * contents_.shape(node).cheapest_leaf) return true;
  const auto consider = [&](const Choice& choice) {
    if (choice.cost(price()) < node.own.cost(price())) node.own = choice;
  };
  consider(contents_.dense(node));
  node.own = contents_.sparse(node, node.own);
  node.least_cost = node.own.cost(price());
  // The cost of the children is known only later: until then the first triplets must suffice.
  if (!final && late) return true;
  for (int search = 0;
       search < kMaxSearchesOfNode &&
       (final || node.squares.size() == 0 || node.squares.size() < node.requested_rank) &&
       may_gain(node, std::min(limit, node.own.cost(price())));
       ++search) {
    if (!may_ask) return false;
    const Index known = node.squares.size();
    const double rest = ContentChoices::unknown_energy(node);
    const Index count = std::max(kFirstTriplets, kMoreTriplets * known);
    source.find_spectrum(node, count, least, [&](const Vector& squares) {
      return contents_.least_cost_of_triplets(node, squares) >
             kSurely * std::min(limit, node.own.cost(price()));
    });
    if (node.squares.size() == known && ContentChoices::unknown_energy(node) >= rest) break;
  }
  if (node.squares.size() == 0) return true;
  if (!may_ask && lacks_digits(node, least)) return false;
  source.refine_spectrum(node, least);
  const double lacking = tree_.weight(node) * std::max(node.rest, 0.0);
  for (const Choice& choice :
       {contents_.low_rank(node, price()), contents_.low_rank_and_dense(node)}) {
    consider(choice);
    node.least_cost = std::min(node.least_cost, choice.cost(price()) - lacking);
  }
  return true;
}

void RateDistortion::find_shapes(std::span<Node> nodes) {
  for (Node& node : nodes) contents_.find_shape(node);
}

void RateDistortion::choose_apart(std::span<Node> nodes,
                                  const std::vector<double>& limits,
                                  double price) {
  find_shapes(nodes);
  contents_.set_price(price);
  parallel_for(std::ssize(nodes), [&](Index k) {
    choose_own(nodes[static_cast<std::size_t>(k)], limits[static_cast<std::size_t>(k)]);
  });
}

/// Runs choose_own() for each node, below its limit: on this rank if that needs no source, else on
/// all ranks.
void RateDistortion::choose_distributed(const std::vector<Node*>& nodes,
                                        const std::vector<double>& limits,
                                        const RunControl& control) {
  std::vector<Node*> lacking;
  std::vector<double> limits_of_lacking;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    control.throw_if_stopped("hierarchical");
    if (choose_own(*nodes[k], limits[k], /*may_ask=*/false)) continue;
    lacking.push_back(nodes[k]);
    limits_of_lacking.push_back(limits[k]);
  }
  if (!lacking.empty()) distributed_->choose(lacking, limits_of_lacking, price());
}

double RateDistortion::least_of_children(std::size_t level, const Node& node) const {
  double sum = 0;
  for (Index c = 0; c < node.children; ++c) {
    const Node& child = tree_.child(level, node, c);
    sum += std::min(tree_.weight(child) * child.energy,
                    price() * contents_.shape(child).cheapest_leaf);
  }
  return sum;
}

/// True if children may cost less than the node itself, as far as that is known before they are
/// examined. If the entries are bounded, no part is worth its bytes if the whole is not: the energy
/// of parts falls faster than their bytes.
bool RateDistortion::division_may_pay(std::size_t level, const Node& node) const {
  if (!tree_.divisible(node)) return false;
  const double own = node.own.cost(price());
  if (tree_.source().exhaustive()) return least_of_children(level, node) < own;
  if (node.own.content != Content::kNothing) {
    return price() * contents_.shape(node).cheapest_leaf < own &&
           !(node.smooth && node.own.rank <= kNeverHalved);
  }
  const double most = tree_.weight(node) * node.largest_square * contents_.shape(node).entries;
  return most > 2 * price() * contents_.shape(node).cheapest_triplets;
}

/// Children of smooth nodes are not divided again if they cost no less than the node itself.
void RateDistortion::stop_where_division_lost(std::size_t level, const std::vector<Node*>& nodes) {
  for (const Node* node : nodes) {
    if (!node->divided || !node->smooth || node->own.content == Content::kNothing) continue;
    double sum = 0;
    for (Index c = 0; c < node->children; ++c) {
      sum += tree_.child(level, *node, c).own.cost(price());
    }
    if (sum < node->own.cost(price())) continue;
    for (Index c = 0; c < node->children; ++c) tree_.child(level, *node, c).divided = false;
  }
}

template <class Visit>
void RateDistortion::for_nodes(std::vector<Node*>& nodes,
                               const RunControl& control,
                               const Visit& visit) const {
  const bool products_are_parallel = tree_.source().exhaustive();
  auto small = std::partition(nodes.begin(), nodes.end(), [&](const Node* node) {
    return products_are_parallel && node->smaller_side() >= kLargeNode;
  });
  // Enough large nodes are better handled in parallel too.
  if (small - nodes.begin() >= threads()) small = nodes.begin();
  for (auto node = nodes.begin(); node != small; ++node) {
    control.throw_if_stopped("hierarchical");
    visit(**node);
  }
  parallel_for(nodes.end() - small, [&](Index k) {
    control.throw_if_stopped("hierarchical");
    visit(**(small + k));
  });
}

/// Divides the nodes that are to be divided, and returns their children.
std::vector<Node*> RateDistortion::divide(std::size_t level, const std::vector<Node*>& nodes) {
  std::vector<Node*> children;
  for (Node* node : nodes) {
    if (!node->divided) continue;
    const bool is_new = node->children == 0;
    tree_.divide(level, *node);
    for (Index c = 0; c < node->children; ++c) {
      Node& child = tree_.child(level, *node, c);
      if (is_new) contents_.find_shape(child);
      children.push_back(&child);
    }
  }
  return children;
}

/// Squared singular values of a node are at least those of a part of it.
void RateDistortion::find_square_bounds(std::size_t level, Node& node) {
  node.raise_square_bounds(node.squares);
  double known = 0;
  for (Index c = 0; c < node.children; ++c) {
    Node& child = tree_.child(level, node, c);
    child.raise_square_bounds(child.squares);
    node.raise_square_bounds(child.square_bounds);
    known += child.square_bounds.sum();
  }
  // The bounds below need as much time as all else if nothing is computed anew.
  const bool is_new = std::exchange(node.bounds_of_children, known) != known;
  if (!is_new || node.children < (node.on_diagonal ? 3 : 4)) return;
  const Node& upper_left = tree_.child(level, node, 0);
  const Node& upper_right = tree_.child(level, node, node.children - 2);
  const Node& lower_left = tree_.child(level, node, 1);
  const Node& lower_right = tree_.child(level, node, node.children - 1);
  node.raise_square_bounds(bounds_of_sum({&upper_left, &lower_right}, {&lower_left, &upper_right}));
  node.raise_square_bounds(bounds_of_sum({&lower_left, &upper_right}, {&upper_left, &lower_right}));
}

/// Lower bound of the cost of all low-rank contents of a divided node. The sums t_k of the k-th
/// squares of its parts majorize its squares, because an approximation of rank r approximates each
/// part at most at rank r; and the least cost of triplets is a concave function of each square.
double RateDistortion::least_cost_of_triplets(std::size_t level, const Node& node) const {
  Vector sums = Vector::Zero(node.smaller_side());
  for (Index c = 0; c < node.children; ++c) {
    const Node& child = tree_.child(level, node, c);
    const double times = node.on_diagonal && !child.on_diagonal ? 2 : 1;
    sums.head(child.square_bounds.size()) += times * child.square_bounds;
  }
  return std::max(contents_.least_cost_of_triplets(node, sums),
                  contents_.least_cost_of_triplets(node, node.square_bounds));
}

/// True if the node itself, examined further, may cost less than its children, which cost `limit`.
bool RateDistortion::needs_more(std::size_t level, Node& node, double limit) {
  if (!tree_.source().exhaustive()) return limit < node.own.cost(price()) || !node.complete;
  const double other = std::min(limit, node.own.cost(price()));
  if (small_only_ || node.smaller_side() <= kLateNode) return false;
  find_square_bounds(level, node);
  return least_cost_of_triplets(level, node) < other;
}

/// Sum of the choices for the children of a divided node.
RateDistortion::Children RateDistortion::children_of(std::size_t level, Node& node) {
  Children children;
  double energy = 0;
  for (Index c = 0; c < node.children; ++c) {
    const Node& child = tree_.child(level, node, c);
    children.sum.squared_error += child.best.squared_error;
    children.sum.bytes += child.best.bytes;
    children.least_cost += child.least_cost;
    energy += child.energy * (node.on_diagonal && !child.on_diagonal ? 2 : 1);
  }
  // The energies of the parts give a better estimate than that of the whole.
  if (!tree_.source().exhaustive() && !node.complete) node.energy = energy;
  return children;
}

/// Chooses the children or the node itself, whichever costs less.
void RateDistortion::choose_between(const Children& children, Node& node) const {
  node.best = children.sum.cost(price()) < node.own.cost(price()) ? children.sum : node.own;
  node.least_cost = std::min(node.least_cost, children.least_cost);
}

void RateDistortion::choose_above(std::size_t level, Node& node) {
  if (!node.divided) return;
  const Children children = children_of(level, node);
  const double limit = children.sum.cost(price());
  if (needs_more(level, node, limit)) choose_own(node, limit);
  choose_between(children, node);
}

/// Makes the choices for the nodes of a level before their children are known.
void RateDistortion::choose_level(std::size_t level,
                                  std::vector<Node*>& nodes,
                                  const RunControl& control) {
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  const auto take = [&](Node& node) {
    node.best = node.own;
    node.divided = division_may_pay(level, node);
  };
  if (distributed_ != nullptr) {
    choose_distributed(nodes, std::vector<double>(nodes.size(), kNoLimit), control);
    for (Node* node : nodes) take(*node);
    return;
  }
  for_nodes(nodes, control, [&](Node& node) {
    choose_own(node, kNoLimit);
    take(node);
  });
}

/// The same after the choices for their children.
void RateDistortion::choose_level_above(std::size_t level,
                                        std::vector<Node*>& nodes,
                                        const RunControl& control) {
  if (distributed_ == nullptr) {
    return for_nodes(nodes, control, [&](Node& node) { choose_above(level, node); });
  }
  std::vector<Children> children;
  std::vector<Node*> lacking;
  std::vector<double> limits;
  for (Node* node : nodes) {
    if (!node->divided) continue;
    children.push_back(children_of(level, *node));
    const double limit = children.back().sum.cost(price());
    if (!needs_more(level, *node, limit)) continue;
    lacking.push_back(node);
    limits.push_back(limit);
  }
  choose_distributed(lacking, limits, control);
  auto next = children.begin();
  for (Node* node : nodes) {
    if (node->divided) choose_between(*next++, *node);
  }
}

Total RateDistortion::small_nodes_at_price(double price, const RunControl& control) {
  small_only_ = true;
  return choose_all(price, control);
}

Total RateDistortion::at_price(double price, const RunControl& control) {
  small_only_ = false;
  const Total total = choose_all(price, control);
  tried_.push_back({price, tree_.root().least_cost});
  return total;
}

Total RateDistortion::choose_all(double price, const RunControl& control) {
  contents_.set_price(price);
  std::vector<std::vector<Node*>> visited{{&tree_.root()}};
  for (std::size_t l = 0; l < visited.size(); ++l) {
    choose_level(l, visited[l], control);
    if (l > 0 && !tree_.source().exhaustive()) stop_where_division_lost(l - 1, visited[l - 1]);
    std::vector<Node*> children = divide(l, visited[l]);
    if (!children.empty()) visited.push_back(std::move(children));
  }
  for (std::size_t l = visited.size(); l-- > 0;) {
    choose_level_above(l, visited[l], control);
  }
  const Choice& root = tree_.root().best;
  return {root.squared_error, root.bytes};
}

double RateDistortion::lower_bound(double bytes) const {
  double bound = 0;
  for (const Tried& tried : tried_) bound = std::max(bound, tried.cost - tried.price * bytes);
  return bound;
}

double RateDistortion::low_rank_bound(double bytes) const {
  const Node& root = tree_.root();
  const double by_bounds = contents_.least_cost_of_low_rank(root, root.square_bounds);
  const double by_found = root.squares.size() > 0 ? least_cost_by_found(root) : 0;
  return std::max(by_bounds, by_found) - price() * bytes;
}

bool RateDistortion::learn(const std::vector<double>& squared_errors) {
  const std::vector<const Node*> found = leaves();
  std::map<const Node*, double> of_entries;
  std::map<const Node*, double> of_triplets;
  double logarithms = 0;
  double bytes = 0;
  double all = 0;
  double unexpected = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Node& node = *found[k];
    const Choice& choice = node.best;
    const double error = squared_errors[k];
    all += error;
    if (choice.squared_error <= 0 || error <= 0) continue;
    if (choice.content == Content::kDense || choice.content == Content::kLowRankAndDense) {
      const double noise = node.noise * error / choice.squared_error;
      of_entries.emplace(&node, noise);
      logarithms += choice.bytes * std::log(noise);
      bytes += choice.bytes;
    } else if (choice.content == Content::kLowRank) {
      const double left = tree_.weight(node) * ContentChoices::left_by(node, choice.rank);
      const double expected = choice.squared_error - left;
      if (expected <= 0 || error <= choice.squared_error) continue;
      of_triplets.emplace(&node, node.triplet_noise * (error - left) / expected);
    } else {
      continue;
    }
    unexpected += std::abs(error - choice.squared_error);
  }
  if (unexpected <= kWorthLearning * all) return false;
  const double mean = bytes > 0 ? std::exp(logarithms / bytes) : 1;
  for (Level& level : tree_.levels()) {
    for (Node& node : level) {
      if (const auto own = of_entries.find(&node); own != of_entries.end()) {
        node.noise = own->second;
      } else if (node.noise == 1) {
        node.noise = mean;
      }
      if (const auto own = of_triplets.find(&node); own != of_triplets.end()) {
        node.triplet_noise = own->second;
      }
    }
  }
  return true;
}

void RateDistortion::collect(std::size_t level,
                             const Node& node,
                             std::vector<const Node*>& leaves) const {
  if (node.best.content != Content::kChildren) {
    leaves.push_back(&node);
    return;
  }
  for (Index c = 0; c < node.children; ++c) collect(level + 1, tree_.child(level, node, c), leaves);
}

std::vector<const Node*> RateDistortion::leaves() const {
  std::vector<const Node*> leaves;
  collect(0, tree_.root(), leaves);
  return leaves;
}

}  // namespace matapprox::blocks
