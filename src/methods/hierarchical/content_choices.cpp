#include "methods/hierarchical/content_choices.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "factors/quantizer.hpp"

namespace matapprox::blocks {
namespace {

/// Largest number of values of a dense leaf: larger blocks gain nothing.
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

ContentChoices::ContentChoices(const BlockTree& tree, std::vector<int> widths, double leaf_bytes)
    : tree_(tree), widths_(std::move(widths)), leaf_bytes_(leaf_bytes) {
  for (const int bits : widths_) {
    entry_noise_.push_back(bits == 64 ? 0 : relative_noise(bits, kValuesPerScale));
  }
}

void ContentChoices::find_shape(Node& node) {
  const auto [known, is_new] = known_shapes_.emplace(
      std::make_tuple(node.rows, node.columns, node.on_diagonal), shapes_.size());
  if (is_new) shapes_.push_back(make_shape(node));
  node.shape = known->second;
}

ContentChoices::Shape ContentChoices::make_shape(const Node& node) const {
  Shape shape;
  TripletWidth narrower{0, 0, 1, 0};
  for (const int bits : widths_) {
    const double right = node.on_diagonal ? 0 : whole_bytes(node.columns, bits);
    TripletWidth width{bits, whole_bytes(node.rows, bits) + right + kComponentBytes};
    width.noise = 2 * relative_noise(bits, std::max(node.rows, node.columns));
    if (width.noise >= narrower.noise) continue;
    // A width above the line between its neighbors is never the best.
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
  shape.entries = static_cast<double>(node.rows) * static_cast<double>(node.columns);
  // A leaf of one entry in few bits stores its value, width and scale.
  constexpr double kOneEntry = 3;
  const double triplet = shape.triplets.empty() ? kOneEntry : shape.triplets.back().bytes;
  shape.cheapest_leaf = leaf_bytes_ + std::min(kOneEntry, triplet);
  shape.cheapest_triplets = leaf_bytes_ + triplet;
  return shape;
}

Choice ContentChoices::nothing(const Node& node) const {
  return {Content::kNothing, tree_.weight(node) * node.energy, 0};
}

const ContentChoices::TripletWidth* ContentChoices::triplet_width(const Node& node,
                                                                  double square,
                                                                  double price) const {
  for (const TripletWidth& width : shape(node).triplets) {
    if (tree_.weight(node) * square > price * width.threshold) return &width;
  }
  return nullptr;
}

Choice ContentChoices::low_rank(const Node& node, double price) const {
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
  if (choice.rank == 0) return nothing(node);
  choice.squared_error += weight * left_by(node, choice.rank);
  return choice;
}

/// The cost of each triplet is the minimum over all widths and over leaving it out.
double ContentChoices::least_cost_of_low_rank(const Node& node, const Vector& squares) const {
  const double weight = tree_.weight(node);
  double cost = price_ * leaf_bytes_;
  for (Index k = 0; k < squares.size(); ++k) {
    const double square = weight * squares(k);
    double least = square;
    for (const TripletWidth& width : shape(node).triplets) {
      least = std::min(least, width.noise * square + price_ * width.bytes);
    }
    cost += least;
  }
  return std::max(cost, price_ * shape(node).cheapest_triplets);
}

/// A choice with a remainder costs at least the bytes of the remainder.
double ContentChoices::least_cost_of_triplets(const Node& node, const Vector& squares) const {
  const double cost = least_cost_of_low_rank(node, squares);
  const std::vector<double>& dense = shape(node).dense_bytes;
  return dense.empty() ? cost : std::min(cost, price_ * (2 * leaf_bytes_ + dense.front()));
}

/// Squares are summed, not subtracted from the energy, which is accurate only to rounding.
double ContentChoices::left_by(const Node& node, Index rank) {
  const double known = rank < node.tails.size() ? node.tails(rank) : 0;
  return known + unknown_energy(node);
}

double ContentChoices::unknown_energy(const Node& node) {
  if (node.complete) return 0;
  if (node.rest >= 0) return node.rest;
  const double known = node.tails.size() > 0 ? node.tails(0) : 0;
  return std::max(node.energy - known, 0.0);
}

double ContentChoices::dense_noise(const Node& node, std::size_t width) const {
  return std::min(1.0, node.noise * entry_noise_[width]);
}

Choice ContentChoices::dense(const Node& node) const {
  const double energy = tree_.weight(node) * node.energy;
  const std::vector<double>& bytes = shape(node).dense_bytes;
  Choice best = nothing(node);
  for (std::size_t w = 0; w < bytes.size(); ++w) {
    Choice choice{Content::kDense, energy * dense_noise(node, w), leaf_bytes_ + bytes[w]};
    choice.bits = widths_[w];
    if (choice.cost(price_) < best.cost(price_)) best = choice;
  }
  return best;
}

/// Considers leading triplets with their remainder in few bits per entry. The remainder includes
/// the quantization noise of the triplets, of which only the factor `noise` is left after it is
/// quantized. Bytes for triplets are therefore 1 / `noise` times as expensive.
Choice ContentChoices::low_rank_and_dense(const Node& node) const {
  const std::vector<double>& bytes = shape(node).dense_bytes;
  Choice best = nothing(node);
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

/// Considers the bins of the largest entries, as many as pay.
Choice ContentChoices::sparse(const Node& node, const Choice& other) const {
  const double weight = tree_.weight(node);
  Choice best = other;
  if (node.sizes == nullptr) return best;
  const EntrySizes& sizes = *node.sizes;
  double count = 0;
  for (std::size_t k = 0; k < EntrySizes::kBins; ++k) {
    if (sizes.counts[k] == 0) continue;
    count += sizes.counts[k];
    const double dropped = sizes.energies[k + 1];
    if (price_ * count * (1 + widths_.front() / 8.0) >= best.cost(price_)) break;
    if (price_ * count + weight * dropped >= best.cost(price_)) continue;
    const double kept = sizes.energies[0] - dropped;
    for (std::size_t w = 0; w < widths_.size(); ++w) {
      const int bits = widths_[w];
      const double error = weight * (dropped + entry_noise_[w] * kept);
      if (price_ * count * (1 + bits / 8.0) + error >= best.cost(price_)) continue;
      // A distance takes one byte, and a second one above 127. Distances are assumed to have a
      // geometric distribution.
      const double distance = 1 + std::exp(-128 * count / shape(node).places);
      const double scales = bits > 16 ? 0 : 2 * std::ceil(count / kValuesPerScale);
      Choice choice{
          Content::kSparse, error, leaf_bytes_ + 1 + count * (distance + bits / 8.0) + scales};
      choice.bits = bits;
      // The last bin contains all smaller entries except zeros.
      choice.square_cutoff = k + 1 == EntrySizes::kBins
                                 ? std::numeric_limits<double>::denorm_min()
                                 : std::ldexp(1.0, sizes.top - static_cast<int>(k) - 1);
      if (choice.cost(price_) < best.cost(price_)) best = choice;
    }
  }
  return best;
}

double ContentChoices::square_cutoff(const Node& node) const {
  if (shape(node).triplets.empty()) return 0;
  return price_ * shape(node).triplets.back().threshold / tree_.weight(node);
}

}  // namespace matapprox::blocks
