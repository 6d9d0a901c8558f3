#include "methods/hierarchical/block_tree.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Smaller sides up to which all singular values are found at once, and up to which they may be.
constexpr Index kAlwaysComplete = 128;
constexpr Index kMayBeComplete = 1024;
constexpr Index kSpectrumOversampling = 8;
/// Squares of singular values from a Gram matrix are right to about this part of the largest.
constexpr double kGramAccuracy = 1e-13;

/// Squared singular values from B B^T or B^T B, whichever is smaller.
Vector gram_squares(const ConstBlock& B) {
  const Matrix G = B.rows() <= B.cols()
                       ? kernels::product(kernels::Trans::kNo, B, kernels::Trans::kYes, B)
                       : kernels::transpose_product(B, B);
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(G, Eigen::EigenvaluesOnly);
  return solver.eigenvalues().reverse().cwiseMax(0.0);
}

Vector squares_of(const ConstBlock& B, bool accurate) {
  return accurate ? Vector(kernels::singular_values(Matrix(B)).cwiseAbs2()) : gram_squares(B);
}

/// The largest ones, by one step of subspace iteration from a Gaussian block [HMT11].
Vector leading_squares(const ConstBlock& B, Index count, bool accurate, std::uint64_t seed) {
  const Matrix start =
      random_normal_matrix(seed, RandomStream::kSketch, B.cols(), count + kSpectrumOversampling);
  const Matrix Q = kernels::thin_qr(kernels::product(B, start));
  const Matrix P = kernels::thin_qr(kernels::transpose_product(B, Q));
  return squares_of(kernels::product(B, P), accurate).head(count);
}

int bin_of(double square) {
  return square > 0 ? std::clamp(-std::ilogb(square) - 1, 0, EntrySizes::kBins - 1) : -1;
}

}  // namespace

void EntrySizes::add(const EntrySizes& other, double times) {
  for (std::size_t k = 0; k < kBins; ++k) {
    counts[k] += other.counts[k];
    energies[k] += times * other.energies[k];
  }
}

BlockTree::BlockTree(const Matrix& A, bool symmetric, Index leaf, std::uint64_t seed)
    : A_(A), symmetric_(symmetric), leaf_(leaf), seed_(seed) {
  Node root;
  root.rows = A.rows();
  root.columns = A.cols();
  root.on_diagonal = symmetric;
  levels_.push_back({root});
  divide();
  sum_energies();
}

void BlockTree::divide() {
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    std::vector<Node> next;
    for (Node& node : levels_[l]) {
      const bool rows = node.rows >= 2 * leaf_ && 2 * node.rows > node.columns;
      const bool columns = node.columns >= 2 * leaf_ && 2 * node.columns > node.rows;
      if (!rows && !columns) continue;
      node.first_child = static_cast<Index>(next.size());
      const Index upper = rows ? (node.rows + 1) / 2 : node.rows;
      const Index left = columns ? (node.columns + 1) / 2 : node.columns;
      for (int c = 0; c < 4; ++c) {
        Node child;
        child.row = node.row + (c % 2 == 0 ? 0 : upper);
        child.rows = c % 2 == 0 ? upper : node.rows - upper;
        child.column = node.column + (c / 2 == 0 ? 0 : left);
        child.columns = c / 2 == 0 ? left : node.columns - left;
        child.on_diagonal = node.on_diagonal && child.row == child.column;
        const bool below = node.on_diagonal && child.row > child.column;
        if (child.rows > 0 && child.columns > 0 && !below) next.push_back(child);
      }
      node.children = static_cast<Index>(next.size()) - node.first_child;
    }
    if (!next.empty()) levels_.push_back(std::move(next));
  }
}

void BlockTree::sum_energies() {
  sizes_.resize(levels_.size());
  for (std::size_t l = levels_.size(); l-- > 0;) {
    std::vector<Node>& nodes = levels_[l];
    sizes_[l].resize(nodes.size());
    parallel_for(static_cast<Index>(nodes.size()), [&](Index k) {
      const auto at = static_cast<std::size_t>(k);
      Node& node = nodes[at];
      EntrySizes& sizes = sizes_[l][at];
      for (Index c = 0; c < node.children; ++c) {
        const auto child = static_cast<std::size_t>(node.first_child + c);
        const double times = node.on_diagonal && !levels_[l + 1][child].on_diagonal ? 2 : 1;
        node.energy += times * levels_[l + 1][child].energy;
        sizes.add(sizes_[l + 1][child], times);
      }
      if (node.children > 0) return;
      const auto block = A_.block(node.row, node.column, node.rows, node.columns);
      for (Index j = 0; j < node.columns; ++j) {
        for (Index i = 0; i < node.rows; ++i) {
          const double square = block(i, j) * block(i, j);
          node.energy += square;
          const int bin = bin_of(square);
          // Of a symmetric block the upper triangle is kept, its entries standing for two.
          if (bin < 0 || (node.on_diagonal && i > j)) continue;
          const double times = node.on_diagonal && i < j ? 2 : 1;
          sizes.counts[static_cast<std::size_t>(bin)] += 1;
          sizes.energies[static_cast<std::size_t>(bin)] += times * square;
        }
      }
    });
  }
}

void BlockTree::find_spectrum(Node& node, Index count, double least) const {
  if (node.complete || count <= node.squares.size()) return;
  const Index side = node.smaller_side();
  node.complete =
      side <= kAlwaysComplete || (side <= kMayBeComplete && 3 * count >= side) || count >= side;
  compute_spectrum(node, count, false);
  refine_spectrum(node, least);
}

void BlockTree::refine_spectrum(Node& node, double least) const {
  if (node.squares.size() == 0 || node.accurate || least >= kGramAccuracy * node.squares(0)) return;
  compute_spectrum(node, node.squares.size(), true);
}

void BlockTree::compute_spectrum(Node& node, Index count, bool accurate) const {
  const auto B = A_.block(node.row, node.column, node.rows, node.columns);
  node.squares =
      node.complete ? squares_of(B, accurate) : leading_squares(B, count, accurate, seed_);
  node.accurate = accurate;
  node.tails = node.squares;
  for (Index k = node.tails.size() - 1; k-- > 0;) node.tails(k) += node.tails(k + 1);
}

}  // namespace matapprox::blocks
