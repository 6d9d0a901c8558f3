#include "methods/hierarchical/rate_distortion.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "factors/quantizer.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::blocks {
namespace {

/// Singular triplets that are looked for first, and how many more where those do not suffice.
constexpr Index kFirstTriplets = 48;
constexpr Index kMoreTriplets = 3;
/// Larger nodes come one after the other: their products use all threads.
constexpr Index kLargeNode = 512;
/// Values that share a scale in dense and sparse leaves.
constexpr Index kScaleGroup = 64;
/// Dense leaves are made of blocks up to this many values: larger ones gain nothing.
constexpr Index kMaxDenseValues = Index{1} << 18;
/// Bytes of the scale and the width of a component.
constexpr double kComponentBytes = 3;

double whole_bytes(Index count, int bits) { return static_cast<double>(packed_bytes(count, bits)); }

}  // namespace

double relative_noise(int bits, Index count) {
  const double tabulated = quantization_noise(bits);
  if (bits > 16) return tabulated;
  // A step of 2 max / 2^b with max^2 = 2 ln(count) times the mean square.
  const double unclipped =
      2 * std::log(static_cast<double>(std::max<Index>(count, 3))) / 3 * std::ldexp(1.0, -2 * bits);
  return std::min(tabulated, unclipped);
}

RateDistortion::RateDistortion(BlockTree& tree, std::vector<int> widths, double leaf_bytes)
    : tree_(tree), widths_(std::move(widths)), leaf_bytes_(leaf_bytes) {}

double RateDistortion::component_bytes(const Node& node, int bits) const {
  const double right = node.on_diagonal ? 0 : whole_bytes(node.columns, bits);
  return whole_bytes(node.rows, bits) + right + kComponentBytes;
}

/// Bytes below which nothing is stored of the node.
double RateDistortion::cheapest_leaf(const Node& node) const {
  // A sparse leaf of one entry: its place, value, scale and width.
  return leaf_bytes_ + std::min(5.0, component_bytes(node, widths_.front()));
}

/// Squared singular values below this are not worth a component.
double RateDistortion::least_square(const Node& node, double price) const {
  double least = std::numeric_limits<double>::infinity();
  for (const int bits : widths_) {
    const double gain = 1 - 2 * relative_noise(bits, node.rows);
    if (gain > 0) least = std::min(least, price * component_bytes(node, bits) / gain);
  }
  return least / tree_.weight(node);
}

int RateDistortion::component_width(const Node& node, double square, double price) const {
  const double energy = tree_.weight(node) * square;
  int best = 0;
  double least = energy;
  for (const int bits : widths_) {
    const double cost = energy * 2 * relative_noise(bits, std::max(node.rows, node.columns)) +
                        price * component_bytes(node, bits);
    if (cost >= least) continue;
    least = cost;
    best = bits;
  }
  return best;
}

std::vector<int> RateDistortion::component_bits(const Node& node) const {
  std::vector<int> bits;
  for (Index k = 0; k < node.best.rank; ++k) {
    bits.push_back(component_width(node, node.squares(k), node.best.rank_price));
  }
  return bits;
}

Choice RateDistortion::low_rank(const Node& node, double price) const {
  const double weight = tree_.weight(node);
  Choice choice{Content::kLowRank, weight * node.energy, leaf_bytes_};
  choice.rank_price = price;
  const double least = least_square(node, price);
  for (Index k = 0; k < node.squares.size() && node.squares(k) > least; ++k) {
    const int bits = component_width(node, node.squares(k), price);
    if (bits == 0) break;
    const double noise = 2 * relative_noise(bits, std::max(node.rows, node.columns));
    choice.squared_error -= weight * node.squares(k) * (1 - noise);
    choice.bytes += component_bytes(node, bits);
    choice.rank = k + 1;
  }
  // The energy and the spectrum are right to rounding only.
  choice.squared_error = std::max(choice.squared_error, 0.0);
  return choice;
}

/// Bytes of all entries in so many bits, without the place of the leaf; 0 where the block is too
/// large for it.
double RateDistortion::dense_bytes(const Node& node, int bits) const {
  const Index values =
      node.on_diagonal ? node.rows * (node.rows + 1) / 2 : node.rows * node.columns;
  if (values > kMaxDenseValues) return 0;
  const double groups = std::ceil(static_cast<double>(values) / kScaleGroup);
  return 1 + (bits > 16 ? 0 : 2 * groups) + whole_bytes(values, bits);
}

double RateDistortion::dense_noise(const Node& node, int bits) const {
  return std::min(1.0, node.noise * relative_noise(bits, kScaleGroup));
}

Choice RateDistortion::dense(const Node& node) const {
  const double energy = tree_.weight(node) * node.energy;
  Choice best{Content::kNothing, energy, 0};
  for (const int bits : widths_) {
    const double bytes = dense_bytes(node, bits);
    if (bytes == 0) break;
    Choice choice{Content::kDense, energy * dense_noise(node, bits), leaf_bytes_ + bytes};
    choice.bits = bits;
    if (choice.cost(price_) < best.cost(price_)) best = choice;
  }
  return best;
}

/// Leading triplets, and what they leave in few bits for each entry. The remainder takes in the
/// noise of the triplets too: a unit of their squared error is worth as much as the remainder's
/// noise leaves of it, which makes bytes for them dearer.
Choice RateDistortion::low_rank_and_dense(const Node& node) const {
  Choice best{Content::kNothing, tree_.weight(node) * node.energy, 0};
  for (const int bits : widths_) {
    const double bytes = dense_bytes(node, bits);
    if (bytes == 0 || bits > 16) break;
    const double noise = dense_noise(node, bits);
    Choice choice = low_rank(node, price_ / noise);
    if (choice.rank == 0) break;
    choice.content = Content::kLowRankAndDense;
    choice.squared_error *= noise;
    choice.bytes += leaf_bytes_ + bytes;
    choice.bits = bits;
    if (choice.cost(price_) < best.cost(price_)) best = choice;
  }
  return best;
}

/// The bins of the largest entries, as many as pay.
Choice RateDistortion::sparse(const Node& node, const EntrySizes& sizes) const {
  const double weight = tree_.weight(node);
  Choice best{Content::kNothing, weight * node.energy, 0};
  const double places = static_cast<double>(node.rows) * static_cast<double>(node.columns) *
                        (node.on_diagonal ? 0.5 : 1.0);
  double count = 0;
  double energy = 0;
  for (int k = 0; k < EntrySizes::kBins; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (sizes.counts[at] == 0) continue;
    count += static_cast<double>(sizes.counts[at]);
    energy += static_cast<double>(sizes.energies[at]);
    // A distance takes a byte more where it is above 127: of a geometric distribution.
    const double distance = 1 + std::exp(-128 * count / places);
    const double dropped = std::max(node.energy - energy, 0.0);
    for (const int bits : widths_) {
      const double noise = relative_noise(bits, kScaleGroup) * energy;
      const double scales = bits > 16 ? 0 : 2 * std::ceil(count / kScaleGroup);
      Choice choice{Content::kSparse,
                    weight * (dropped + noise),
                    leaf_bytes_ + 1 + count * (distance + bits / 8.0) + scales};
      choice.bits = bits;
      choice.least_square = std::ldexp(1.0, -k - 1);
      if (choice.cost(price_) < best.cost(price_)) best = choice;
    }
  }
  return best;
}

/// Whether more triplets than are known may make the low-rank choice cheaper than `other`: each of
/// those left has at most the square of the last one, and costs at least what that one would.
bool RateDistortion::may_gain(const Node& node, double other) const {
  if (node.complete) return false;
  const double known = node.squares.sum();
  const double rest = std::max(node.energy - known, 0.0);
  const double last = node.squares.size() > 0 ? node.squares(node.squares.size() - 1) : node.energy;
  if (last <= least_square(node, price_)) return false;
  const double weight = tree_.weight(node);
  const int bits = component_width(node, last, price_);
  const double cost_of_last =
      weight * last * 2 * relative_noise(bits, std::max(node.rows, node.columns)) +
      price_ * component_bytes(node, bits);
  const Choice found = low_rank(node, price_);
  const double of_found = found.cost(price_) - weight * rest;
  return of_found + rest / last * cost_of_last < other;
}

/// The best content without children; more of the spectrum is found as long as that may bring it
/// below `limit`.
void RateDistortion::choose_own(Node& node, const EntrySizes& sizes, double limit) {
  const Choice nothing{Content::kNothing, tree_.weight(node) * node.energy, 0};
  node.own = nothing;
  if (nothing.squared_error <= price_ * cheapest_leaf(node)) return;
  const auto consider = [&](const Choice& choice) {
    if (choice.cost(price_) < node.own.cost(price_)) node.own = choice;
  };
  consider(dense(node));
  consider(sparse(node, sizes));
  Index count = std::max<Index>(node.squares.size(), kFirstTriplets);
  while (may_gain(node, std::min(limit, node.own.cost(price_)))) {
    const Index before = node.squares.size();
    tree_.find_spectrum(node, count, least_square(node, price_));
    if (node.squares.size() == before) break;
    count = kMoreTriplets * node.squares.size();
    // What the children take is known only later: the first triplets have to do until then.
    if (limit == std::numeric_limits<double>::infinity()) break;
  }
  if (node.squares.size() == 0) return;
  consider(low_rank(node, price_));
  consider(low_rank_and_dense(node));
}

double RateDistortion::least_of_children(std::size_t level, const Node& node) const {
  double sum = 0;
  for (Index c = 0; c < node.children; ++c) {
    const Node& child = tree_.levels()[level + 1][static_cast<std::size_t>(node.first_child + c)];
    sum += std::min(tree_.weight(child) * child.energy, price_ * cheapest_leaf(child));
  }
  return sum;
}

template <class Body>
void RateDistortion::for_nodes(std::vector<Node*>& nodes,
                               const RunControl& control,
                               const Body& body) const {
  const auto small = std::partition(nodes.begin(), nodes.end(), [](const Node* node) {
    return node->smaller_side() >= kLargeNode;
  });
  for (auto node = nodes.begin(); node != small; ++node) {
    control.throw_if_stopped("hierarchical");
    body(**node);
  }
  parallel_for(nodes.end() - small, [&](Index k) {
    control.throw_if_stopped("hierarchical");
    body(**(small + k));
  });
}

Total RateDistortion::at_price(double price, const RunControl& control) {
  price_ = price;
  auto& levels = tree_.levels();
  std::vector<std::vector<Node*>> looked_at(levels.size());
  looked_at[0] = {&levels[0][0]};
  for (std::size_t l = 0; l < levels.size(); ++l) {
    for_nodes(looked_at[l], control, [&](Node& node) {
      choose_own(node,
                 tree_.entry_sizes(l, &node - levels[l].data()),
                 std::numeric_limits<double>::infinity());
      node.best = node.own;
      node.divided = node.children > 0 && least_of_children(l, node) < node.own.cost(price_);
    });
    for (const Node* node : looked_at[l]) {
      for (Index c = 0; node->divided && c < node->children; ++c) {
        looked_at[l + 1].push_back(&levels[l + 1][static_cast<std::size_t>(node->first_child + c)]);
      }
    }
  }
  for (std::size_t l = levels.size() - 1; l-- > 0;) {
    for_nodes(looked_at[l], control, [&](Node& node) {
      if (!node.divided) return;
      Choice children{Content::kChildren};
      for (Index c = 0; c < node.children; ++c) {
        const Node& child = levels[l + 1][static_cast<std::size_t>(node.first_child + c)];
        children.squared_error += child.best.squared_error;
        children.bytes += child.best.bytes;
      }
      const double limit = children.cost(price_);
      if (limit < node.own.cost(price_) || !node.complete) {
        choose_own(node, tree_.entry_sizes(l, &node - levels[l].data()), limit);
      }
      node.best = limit < node.own.cost(price_) ? children : node.own;
    });
  }
  const Choice& root = levels[0][0].best;
  tried_.push_back({price, root.cost(price)});
  return {root.squared_error, root.bytes};
}

double RateDistortion::lower_bound(double bytes) const {
  double bound = 0;
  for (const Tried& tried : tried_) bound = std::max(bound, tried.cost - tried.price * bytes);
  return bound;
}

void RateDistortion::learn(const std::vector<double>& squared_errors) {
  const std::vector<const Node*> found = leaves();
  std::map<const Node*, double> learned;
  double logarithms = 0;
  double bytes = 0;
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Choice& choice = found[k]->best;
    const bool dense =
        choice.content == Content::kDense || choice.content == Content::kLowRankAndDense;
    if (!dense || choice.squared_error <= 0 || squared_errors[k] <= 0) continue;
    const double ratio = squared_errors[k] / choice.squared_error * found[k]->noise;
    learned[found[k]] = ratio;
    logarithms += choice.bytes * std::log(ratio);
    bytes += choice.bytes;
  }
  if (learned.empty()) return;
  const double mean = std::exp(logarithms / bytes);
  for (auto& level : tree_.levels()) {
    for (Node& node : level) {
      const auto own = learned.find(&node);
      if (own != learned.end()) {
        node.noise = own->second;
      } else if (node.noise == 1) {
        node.noise = mean;
      }
    }
  }
}

void RateDistortion::collect(std::size_t level,
                             const Node& node,
                             std::vector<const Node*>& leaves) const {
  if (node.best.content != Content::kChildren) {
    leaves.push_back(&node);
    return;
  }
  for (Index c = 0; c < node.children; ++c) {
    collect(level + 1,
            tree_.levels()[level + 1][static_cast<std::size_t>(node.first_child + c)],
            leaves);
  }
}

std::vector<const Node*> RateDistortion::leaves() const {
  std::vector<const Node*> leaves;
  collect(0, tree_.levels()[0][0], leaves);
  return leaves;
}

}  // namespace matapprox::blocks
