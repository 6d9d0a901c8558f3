#include "methods/hierarchical/block_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Squares of singular values from a Gram matrix are right to about this part of the largest.
constexpr double kGramAccuracy = 1e-13;
/// Of the smaller side: above that all of them are found at once.
constexpr Index kMaxPartFound = 2;

/// B B^T or B^T B, whichever is smaller.
Matrix gram_matrix(const ConstBlock& B) {
  return B.rows() <= B.cols() ? kernels::product(kernels::Trans::kNo, B, kernels::Trans::kYes, B)
                              : kernels::transpose_product(B, B);
}

/// Squared singular values from a Gram matrix.
Vector gram_squares(const Matrix& G) {
  return kernels::symmetric_eigenvalues(G).reverse().cwiseMax(0.0);
}

/// By the exponent of the square; the least numbers are in the last bin anyway.
int bin_of(double square, int top) {
  if (square <= 0) return -1;
  const auto exponent = static_cast<int>(std::bit_cast<std::uint64_t>(square) >> 52U) - 1023;
  return std::clamp(top - exponent - 1, 0, EntrySizes::kBins - 1);
}

}  // namespace

void EntrySizes::add(const EntrySizes& other, double times) {
  top = other.top;
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

void Node::raise_least_squares(const Vector& bounds) {
  const Index known = least_squares.size();
  if (known < bounds.size()) {
    least_squares.conservativeResize(bounds.size());
    least_squares.tail(bounds.size() - known).setZero();
  }
  auto leading = least_squares.head(bounds.size());
  leading = leading.cwiseMax(bounds);
}

Vector squares_of(const ConstBlock& B, bool accurate) {
  return accurate ? Vector(kernels::singular_values(Matrix(B)).cwiseAbs2())
                  : gram_squares(gram_matrix(B));
}

/// Columns are taken by what is left of them, largest first, and orthonormalized: Q R with R = Q^T
/// B. The squares of R are those of B but for what is left of all columns, the sum of all others.
LeadingSquares squares_down_to(const ConstBlock& B, double least) {
  const Index most = std::min(B.rows(), B.cols()) / kMaxPartFound;
  const double negligible = kSearchedRest * least;
  Vector left = B.colwise().squaredNorm().transpose();
  if (negligible <= kGramAccuracy * left.sum()) return {gram_squares(gram_matrix(B)), 0, true};
  Matrix Q(B.rows(), most);
  Matrix R(B.cols(), most);  // transposed
  for (Index rank = 0;; ++rank) {
    const double rest = left.sum();
    if (rest <= negligible) {
      const auto found = R.leftCols(rank);
      return {rank == 0 ? Vector() : gram_squares(kernels::transpose_product(found, found)), rest};
    }
    if (rank == most) break;
    Index pivot = 0;
    left.maxCoeff(&pivot);
    Vector q = B.col(pivot);
    for (int twice = 0; twice < 2 && rank > 0; ++twice) {
      q -= kernels::product(Q.leftCols(rank), kernels::transpose_product(Q.leftCols(rank), q));
    }
    Q.col(rank) = q.normalized();
    R.col(rank) = kernels::transpose_product(B, Q.col(rank));
    left = (left - R.col(rank).cwiseAbs2()).cwiseMax(0.0);
  }
  return {gram_squares(gram_matrix(B)), 0, true};
}

bool below_gram_accuracy(const Vector& squares, double least) {
  return squares.size() > 0 && least < kGramAccuracy * squares(0);
}

void measure_entries(const ConstBlock& B, Node& node, bool with_sizes, int top) {
  node.energy = 0;
  double largest = 0;
  if (with_sizes) {
    node.sizes = std::make_unique<EntrySizes>();
    node.sizes->top = top;
  }
  for (Index j = 0; j < B.cols(); ++j) {
    for (Index i = 0; i < B.rows(); ++i) {
      const double square = B(i, j) * B(i, j);
      node.energy += square;
      largest = std::max(largest, square);
      // Of a symmetric block the upper triangle is kept, its entries standing for two.
      if (!with_sizes || (node.on_diagonal && i > j)) continue;
      const int bin = bin_of(square, top);
      if (bin < 0) continue;
      const double times = node.on_diagonal && i < j ? 2 : 1;
      node.sizes->counts[static_cast<std::size_t>(bin)] += 1;
      node.sizes->energies[static_cast<std::size_t>(bin)] += times * square;
    }
  }
  node.largest_square = largest;
}

}  // namespace matapprox::blocks
