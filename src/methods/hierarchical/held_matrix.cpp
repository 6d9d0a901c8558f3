#include "methods/hierarchical/held_matrix.hpp"

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Smaller sides up to which all singular values are found at once, and up to which they may be.
constexpr Index kAlwaysComplete = 128;
constexpr Index kMayBeComplete = 1024;
constexpr Index kSpectrumOversampling = 8;

/// The largest ones, by one step of subspace iteration from a Gaussian block [HMT11].
Vector leading_squares(const ConstBlock& B, Index count, bool accurate, std::uint64_t seed) {
  const Matrix start =
      random_normal_matrix(seed, RandomStream::kSketch, B.cols(), count + kSpectrumOversampling);
  const Matrix Q = kernels::thin_qr(kernels::product(B, start));
  const Matrix P = kernels::thin_qr(kernels::transpose_product(B, Q));
  return squares_of(kernels::product(B, P), accurate).head(count);
}

}  // namespace

ConstBlock HeldMatrix::block(const Node& node, Matrix& /*space*/) const {
  return A_.block(node.row, node.column, node.rows, node.columns);
}

void HeldMatrix::describe(Node& node, double /*least*/) const {
  Matrix none;
  measure_entries(block(node, none), node, true);
  node.described = true;
}

void HeldMatrix::find_spectrum(Node& node, Index count, double least) const {
  if (node.complete || count <= node.squares.size()) return;
  const Index side = node.smaller_side();
  node.complete =
      side <= kAlwaysComplete || (side <= kMayBeComplete && 3 * count >= side) || count >= side;
  compute_spectrum(node, count, false);
  refine_spectrum(node, least);
}

void HeldMatrix::refine_spectrum(Node& node, double least) const {
  if (node.accurate || !below_gram_accuracy(node.squares, least)) return;
  compute_spectrum(node, node.squares.size(), true);
}

void HeldMatrix::compute_spectrum(Node& node, Index count, bool accurate) const {
  Matrix none;
  const ConstBlock B = block(node, none);
  node.set_squares(node.complete ? squares_of(B, accurate)
                                 : leading_squares(B, count, accurate, seed_));
  node.accurate = accurate;
}

Triplets HeldMatrix::triplets(const Node& /*node*/) const {
  throw Error("hierarchical: triplets of a matrix that is held");
}

}  // namespace matapprox::blocks
