#include "methods/hierarchical/block_source.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Accuracy of squared singular values from a Gram matrix, relative to the largest one.
constexpr double kGramAccuracy = 1e-13;
/// Least number of columns of a Gram matrix that are computed at a time, down to the diagonal.
constexpr Index kGramBlock = 32;
/// If more than 1 / kMaxPartFound of the squares are needed, all are computed at once.
constexpr Index kMaxPartFound = 2;

/// Computes B B^T or B^T B, whichever is smaller: blocks on and above the diagonal by products,
/// their mirror images by copying.
Matrix gram_matrix(const ConstBlock& B) {
  const bool of_rows = B.rows() <= B.cols();
  const Index n = std::min(B.rows(), B.cols());
  Matrix G(n, n);
  const Index width = std::max<Index>(kGramBlock, (n + 3) / 4);
  for (Index first = 0; first < n; first += width) {
    const Index count = std::min(width, n - first);
    const Index end = first + count;
    if (of_rows) {
      kernels::gemm(kernels::Trans::kNo,
                    B.topRows(end),
                    kernels::Trans::kYes,
                    B.middleRows(first, count),
                    G.block(0, first, end, count));
    } else {
      kernels::gemm(kernels::Trans::kYes,
                    B.leftCols(end),
                    kernels::Trans::kNo,
                    B.middleCols(first, count),
                    G.block(0, first, end, count));
    }
    G.block(first, 0, count, first) = G.block(0, first, first, count).transpose();
  }
  return G;
}

/// Squared singular values from a Gram matrix.
Vector gram_squares(const Matrix& G) {
  return kernels::symmetric_eigenvalues(G).reverse().cwiseMax(0.0);
}

/// Bin of a square, from its exponent; the smallest numbers are in the last bin anyway.
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

/// Computes a partial pivoted Cholesky factorization L L^T of the Gram matrix: the squares of L are
/// those of B, up to the remaining diagonal, whose sum is the sum of all other squares.
LeadingSquares squares_down_to(const ConstBlock& B, double least) {
  const Matrix G = gram_matrix(B);
  const Index most = G.rows() / kMaxPartFound;
  const double negligible = kSearchedRest * least;
  Vector left = G.diagonal();
  if (negligible <= kGramAccuracy * left.sum()) return {gram_squares(G), 0, true};
  Matrix L(G.rows(), most);
  for (Index rank = 0;; ++rank) {
    const double rest = left.sum();
    if (rest <= negligible) {
      const auto found = L.leftCols(rank);
      return {rank == 0 ? Vector() : gram_squares(found.transpose() * found), rest};
    }
    if (rank == most) return {gram_squares(G), 0, true};
    Index pivot = 0;
    const double square = left.maxCoeff(&pivot);
    auto column = L.col(rank);
    column = G.col(pivot);
    for (Index k = 0; k < rank; ++k) column -= L(pivot, k) * L.col(k);
    column /= std::sqrt(square);
    left = (left - column.cwiseAbs2()).cwiseMax(0.0);
    left(pivot) = 0;
  }
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
      // A symmetric block stores its upper triangle; an entry off the diagonal stands for two.
      if (!with_sizes || (node.on_diagonal && i > j)) continue;
      const int bin = bin_of(square, top);
      if (bin < 0) continue;
      const double times = node.on_diagonal && i < j ? 2 : 1;
      node.sizes->counts[static_cast<std::size_t>(bin)] += 1;
      node.sizes->energies[static_cast<std::size_t>(bin)] += times * square;
    }
  }
  node.largest_square = largest;
  if (!with_sizes) return;
  auto& energies = node.sizes->energies;
  for (std::size_t k = EntrySizes::kBins; k-- > 0;) energies[k] += energies[k + 1];
}

}  // namespace matapprox::blocks
