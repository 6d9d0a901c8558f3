#include "methods/hierarchical/rate_distortion.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "factors/quantizer.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::blocks {
namespace {

/// Singular triplets that are looked for first, and how many more where those do not suffice.
constexpr Index kFirstTriplets = 48;
constexpr Index kMoreTriplets = 3;
/// Larger nodes come one after the other: their products use all threads.
constexpr Index kLargeNode = 512;
/// Dense leaves are made of blocks up to this many values: larger ones gain nothing.
constexpr Index kMaxDenseValues = Index{1} << 18;
/// Part of the squared error that may come out otherwise than expected.
constexpr double kWorthLearning = 0.05;
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
    : tree_(tree), widths_(std::move(widths)), leaf_bytes_(leaf_bytes) {
  for (const int bits : widths_) {
    entry_noise_.push_back(bits == 64 ? 0 : relative_noise(bits, kValuesPerScale));
  }
  std::map<std::tuple<Index, Index, bool>, std::size_t> known;
  for (auto& level : tree_.levels()) {
    for (Node& node : level) {
      const auto [shape, is_new] =
          known.emplace(std::make_tuple(node.rows, node.columns, node.on_diagonal), shapes_.size());
      if (is_new) shapes_.push_back(make_shape(node));
      node.shape = shape->second;
    }
  }
}

RateDistortion::Shape RateDistortion::make_shape(const Node& node) const {
  Shape shape;
  TripletWidth narrower{0, 0, 1, 0};
  for (const int bits : widths_) {
    const double right = node.on_diagonal ? 0 : whole_bytes(node.columns, bits);
    TripletWidth width{bits, whole_bytes(node.rows, bits) + right + kComponentBytes};
    width.noise = 2 * relative_noise(bits, std::max(node.rows, node.columns));
    if (width.noise >= narrower.noise) continue;
    // What lies above the line between its neighbors is never the best.
    for (;;) {
      const auto& below = shape.triplets.empty() ? narrower : shape.triplets.front();
      width.threshold = (width.bytes - below.bytes) / (below.noise - width.noise);
      if (shape.triplets.empty() || width.threshold > below.threshold) break;
      shape.triplets.erase(shape.triplets.begin());
    }
    shape.triplets.insert(shape.triplets.begin(), width);
  }
  const Index values =
      node.on_diagonal ? node.rows * (node.rows + 1) / 2 : node.rows * node.columns;
  const double groups = std::ceil(static_cast<double>(values) / kValuesPerScale);
  for (const int bits : widths_) {
    if (values > kMaxDenseValues) break;
    shape.dense_bytes.push_back(1 + (bits > 16 ? 0 : 2 * groups) + whole_bytes(values, bits));
  }
  shape.places = static_cast<double>(values);
  // A leaf of one entry in few bits: its value, width and scale.
  constexpr double kOneEntry = 3;
  shape.cheapest_leaf =
      leaf_bytes_ +
      (shape.triplets.empty() ? kOneEntry : std::min(kOneEntry, shape.triplets.back().bytes));
  return shape;
}

/// None where the triplet is not worth storing.
const RateDistortion::TripletWidth* RateDistortion::triplet_width(const Node& node,
                                                                  double square,
                                                                  double price) const {
  for (const TripletWidth& width : shape(node).triplets) {
    if (tree_.weight(node) * square > price * width.threshold) return &width;
  }
  return nullptr;
}

std::vector<int> RateDistortion::component_bits(const Node& node) const {
  std::vector<int> bits;
  for (Index k = 0; k < node.best.rank; ++k) {
    bits.push_back(triplet_width(node, node.squares(k), node.best.rank_price)->bits);
  }
  return bits;
}

Choice RateDistortion::low_rank(const Node& node, double price) const {
  const double weight = tree_.weight(node);
  Choice choice{Content::kLowRank, 0, leaf_bytes_};
  choice.rank_price = price;
  const auto& widths = shape(node).triplets;
  auto width = widths.begin();
  for (Index k = 0; k < node.squares.size(); ++k) {
    const double square = weight * node.squares(k);
    while (width != widths.end() && square <= price * width->threshold) ++width;
    if (width == widths.end()) break;
    choice.squared_error += std::min(1.0, node.triplet_noise * width->noise) * square;
    choice.bytes += width->bytes;
    choice.rank = k + 1;
  }
  choice.squared_error += weight * left_by(node, choice.rank);
  return choice;
}

/// Squared error of the best approximation of that rank, without what it is quantized to. Summed,
/// not subtracted from the energy, which is right to rounding only.
double RateDistortion::left_by(const Node& node, Index rank) {
  const double known = rank < node.tails.size() ? node.tails(rank) : 0;
  return node.complete ? known : known + unknown_energy(node);
}

/// Of the singular values that are not known.
double RateDistortion::unknown_energy(const Node& node) {
  const double known = node.tails.size() > 0 ? node.tails(0) : 0;
  return std::max(node.energy - known, 0.0);
}

double RateDistortion::dense_noise(const Node& node, std::size_t width) const {
  return std::min(1.0, node.noise * entry_noise_[width]);
}

Choice RateDistortion::dense(const Node& node) const {
  const double energy = tree_.weight(node) * node.energy;
  const std::vector<double>& bytes = shape(node).dense_bytes;
  Choice best{Content::kNothing, energy, 0};
  for (std::size_t w = 0; w < bytes.size(); ++w) {
    Choice choice{Content::kDense, energy * dense_noise(node, w), leaf_bytes_ + bytes[w]};
    choice.bits = widths_[w];
    if (choice.cost(price_) < best.cost(price_)) best = choice;
  }
  return best;
}

/// Leading triplets, and what they leave in few bits for each entry. The remainder takes in the
/// noise of the triplets too: a unit of their squared error is worth as much as the remainder's
/// noise leaves of it, which makes bytes for them dearer.
Choice RateDistortion::low_rank_and_dense(const Node& node) const {
  const std::vector<double>& bytes = shape(node).dense_bytes;
  Choice best{Content::kNothing, tree_.weight(node) * node.energy, 0};
  for (std::size_t w = 0; w < bytes.size() && widths_[w] <= 16; ++w) {
    if (price_ * bytes[w] >= best.cost(price_)) break;
    const double noise = dense_noise(node, w);
    Choice choice = low_rank(node, price_ / noise);
    if (choice.rank == 0) break;
    choice.content = Content::kLowRankAndDense;
    choice.squared_error *= noise;
    choice.bytes += leaf_bytes_ + bytes[w];
    choice.bits = widths_[w];
    if (choice.cost(price_) < best.cost(price_)) best = choice;
  }
  return best;
}

/// The bins of the largest entries, as many as pay.
Choice RateDistortion::sparse(const Node& node, const EntrySizes& sizes) const {
  const double weight = tree_.weight(node);
  Choice best{Content::kNothing, weight * node.energy, 0};
  std::array<double, EntrySizes::kBins> dropped{};  // energy of the bins behind each one
  for (std::size_t k = EntrySizes::kBins - 1; k-- > 0;) {
    dropped[k] = dropped[k + 1] + sizes.energies[k + 1];
  }
  double count = 0;
  double energy = 0;
  for (std::size_t k = 0; k < EntrySizes::kBins; ++k) {
    if (sizes.counts[k] == 0) continue;
    count += sizes.counts[k];
    energy += sizes.energies[k];
    // A distance takes at least a byte, and one more where it is above 127: of a geometric
    // distribution.
    if (price_ * count >= best.cost(price_)) break;
    const double distance = 1 + std::exp(-128 * count / shape(node).places);
    for (std::size_t w = 0; w < widths_.size(); ++w) {
      const int bits = widths_[w];
      const double scales = bits > 16 ? 0 : 2 * std::ceil(count / kValuesPerScale);
      Choice choice{Content::kSparse,
                    weight * (dropped[k] + entry_noise_[w] * energy),
                    leaf_bytes_ + 1 + count * (distance + bits / 8.0) + scales};
      choice.bits = bits;
      // The last bin holds all that are smaller, but no zeros.
      choice.least_square = k + 1 == EntrySizes::kBins ? std::numeric_limits<double>::denorm_min()
                                                       : std::ldexp(1.0, -static_cast<int>(k) - 1);
      if (choice.cost(price_) < best.cost(price_)) best = choice;
    }
  }
  return best;
}

/// Whether more triplets than are known may make the low-rank choice cheaper than `other`: each of
/// those left has at most the square of the last one, and costs at least what that one would.
bool RateDistortion::may_gain(const Node& node, double other) const {
  if (node.complete) return false;
  const double rest = unknown_energy(node);
  const double last = node.squares.size() > 0 ? node.squares(node.squares.size() - 1) : node.energy;
  const TripletWidth* width = triplet_width(node, last, price_);
  if (width == nullptr) return false;
  const double weight = tree_.weight(node);
  const double cost_of_last = weight * last * width->noise + price_ * width->bytes;
  const double of_found = low_rank(node, price_).cost(price_) - weight * rest;
  return of_found + rest / last * cost_of_last < other;
}

/// The best content without children; more of the spectrum is found as long as that may bring it
/// below `limit`.
void RateDistortion::choose_own(Node& node, const EntrySizes& sizes, double limit) {
  const Choice nothing{Content::kNothing, tree_.weight(node) * node.energy, 0};
  node.own = nothing;
  if (nothing.squared_error <= price_ * shape(node).cheapest_leaf) return;
  const auto consider = [&](const Choice& choice) {
    if (choice.cost(price_) < node.own.cost(price_)) node.own = choice;
  };
  consider(dense(node));
  consider(sparse(node, sizes));
  const double least = shape(node).triplets.empty()
                           ? 0
                           : price_ * shape(node).triplets.back().threshold / tree_.weight(node);
  // What the children take is known only later: until then the first triplets have to do.
  const bool final = limit < std::numeric_limits<double>::infinity() || node.children == 0;
  while ((final || node.squares.size() == 0) &&
         may_gain(node, std::min(limit, node.own.cost(price_)))) {
    const Index known = node.squares.size();
    tree_.find_spectrum(node, known == 0 ? kFirstTriplets : kMoreTriplets * known, least);
    if (node.squares.size() == known) break;
  }
  if (node.squares.size() == 0) return;
  tree_.refine_spectrum(node, least);
  consider(low_rank(node, price_));
  consider(low_rank_and_dense(node));
}

double RateDistortion::least_of_children(std::size_t level, const Node& node) const {
  double sum = 0;
  for (Index c = 0; c < node.children; ++c) {
    const Node& child = tree_.levels()[level + 1][static_cast<std::size_t>(node.first_child + c)];
    sum += std::min(tree_.weight(child) * child.energy, price_ * shape(child).cheapest_leaf);
  }
  return sum;
}

template <class Visit>
void RateDistortion::for_nodes(std::vector<Node*>& nodes,
                               const RunControl& control,
                               const Visit& visit) const {
  const auto small = std::partition(nodes.begin(), nodes.end(), [](const Node* node) {
    return node->smaller_side() >= kLargeNode;
  });
  for (auto node = nodes.begin(); node != small; ++node) {
    control.throw_if_stopped("hierarchical");
    visit(**node);
  }
  parallel_for(nodes.end() - small, [&](Index k) {
    control.throw_if_stopped("hierarchical");
    visit(**(small + k));
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
      const double left = tree_.weight(node) * left_by(node, choice.rank);
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
  for (auto& level : tree_.levels()) {
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
