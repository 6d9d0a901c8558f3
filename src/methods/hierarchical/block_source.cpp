#include "methods/hierarchical/block_source.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Squares of singular values from a Gram matrix are right to about this part of the largest.
constexpr double kGramAccuracy = 1e-13;

/// Squared singular values from B B^T or B^T B, whichever is smaller.
Vector gram_squares(const ConstBlock& B) {
  const Matrix G = B.rows() <= B.cols()
                       ? kernels::product(kernels::Trans::kNo, B, kernels::Trans::kYes, B)
                       : kernels::transpose_product(B, B);
  return kernels::symmetric_eigenvalues(G).reverse().cwiseMax(0.0);
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

void Node::set_squares(Vector found) {
  squares = std::move(found);
  tails = squares;
  for (Index k = tails.size() - 1; k-- > 0;) tails(k) += tails(k + 1);
}

Vector squares_of(const ConstBlock& B, bool accurate) {
  return accurate ? Vector(kernels::singular_values(Matrix(B)).cwiseAbs2()) : gram_squares(B);
}

bool below_gram_accuracy(const Vector& squares, double least) {
  return squares.size() > 0 && least < kGramAccuracy * squares(0);
}

void measure_entries(const ConstBlock& B, Node& node, bool with_sizes) {
  node.energy = 0;
  double largest = 0;
  if (with_sizes) node.sizes = std::make_unique<EntrySizes>();
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < B.rows(); ++i) {
      const double square = B(i, j) * B(i, j);
      node.energy += square;
      largest = std::max(largest, square);
      // Of a symmetric block the upper triangle is kept, its entries standing for two.
      if (!with_sizes || (node.on_diagonal && i > j)) continue;
      const int bin = bin_of(square);
      if (bin < 0) continue;
      const double times = node.on_diagonal && i < j ? 2 : 1;
      node.sizes->counts[static_cast<std::size_t>(bin)] += 1;
      node.sizes->energies[static_cast<std::size_t>(bin)] += times * square;
    }
  }
  node.largest_square = largest;
}

}  // namespace matapprox::blocks
