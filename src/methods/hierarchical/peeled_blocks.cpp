#include "methods/hierarchical/peeled_blocks.hpp"

#include <utility>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {
namespace {

/// Largest side of blocks that are computed as a whole, so that entries can be counted too.
constexpr Index kCountedSide = 64;

double squared_norm(const Matrix& X, const Matrix& Y) {
  return kernels::transpose_product(X, X).cwiseProduct(kernels::transpose_product(Y, Y)).sum();
}

}  // namespace

PeeledBlocks::PeeledBlocks(PeeledMatrix A, Index leaf) : A_(std::move(A)), leaf_(leaf) {
  for (const std::vector<PeeledBlock>& level : A_.levels()) {
    for (const PeeledBlock& block : level) blocks_[{block.row, block.column}] = &block;
  }
  for (const PeeledLeaf& each : A_.leaves()) leaves_[each.first] = &each;
  energy_ = energy_of(0, rows());
}

/// Energy of the diagonal block of the range.
double PeeledBlocks::energy_of(Index first, Index count) const {
  if (count < 2 * leaf_ || count < 2) return leaves_.at(first)->values.squaredNorm();
  const Index upper = (count + 1) / 2;
  const PeeledBlock& above = *blocks_.at({first, first + upper});
  double sum = energy_of(first, upper) + energy_of(first + upper, count - upper);
  sum += (symmetric() ? 2 : 1) * squared_norm(above.X, above.Y);
  if (!symmetric()) {
    const PeeledBlock& below = *blocks_.at({first + upper, first});
    sum += squared_norm(below.X, below.Y);
  }
  return sum;
}

PeeledBlocks::Factors PeeledBlocks::factors(Index row,
                                            Index rows,
                                            Index column,
                                            Index columns) const {
  Index first = 0;
  Index count = this->rows();
  for (;;) {
    const Index upper = (count + 1) / 2;
    const Index middle = first + upper;
    const bool is_low = row >= middle;
    if (is_low != (column >= middle)) {
      const bool mirrored = is_low && symmetric();
      const PeeledBlock& found =
          *blocks_.at(is_low && !mirrored ? std::pair(middle, first) : std::pair(first, middle));
      const Matrix& X = mirrored ? found.Y : found.X;
      const Matrix& Y = mirrored ? found.X : found.Y;
      return {X.middleRows(row - (is_low ? middle : first), rows),
              Y.middleRows(column - (is_low ? first : middle), columns)};
    }
    first = is_low ? middle : first;
    count = is_low ? count - upper : upper;
  }
}

/// Fills in the diagonal block of the range.
void PeeledBlocks::fill(Index first, Index count, Block values) const {
  if (count < 2 * leaf_ || count < 2) {
    values = leaves_.at(first)->values;
    return;
  }
  const Index upper = (count + 1) / 2;
  const Index lower = count - upper;
  fill(first, upper, values.topLeftCorner(upper, upper));
  fill(first + upper, lower, values.bottomRightCorner(lower, lower));
  const Factors above = factors(first, upper, first + upper, lower);
  values.topRightCorner(upper, lower).noalias() = above.X * above.Y.transpose();
  const Factors below = factors(first + upper, lower, first, upper);
  values.bottomLeftCorner(lower, upper).noalias() = below.X * below.Y.transpose();
}

/// Nodes that have entries on the diagonal are the diagonal blocks of ranges.
ConstBlock PeeledBlocks::block(const Node& node, Matrix& space) const {
  if (spans(node)) {
    space.resize(node.rows, node.columns);
    fill(node.row, node.rows, space);
    return space;
  }
  const Factors of = factors(node.row, node.rows, node.column, node.columns);
  space = kernels::product(kernels::Trans::kNo, of.X, kernels::Trans::kYes, of.Y);
  return space;
}

void PeeledBlocks::describe(Node& node, double least) const {
  node.described = true;
  if (spans(node) && node.rows >= 2 * leaf_) {
    node.energy = energy_of(node.row, node.rows);
    return;
  }
  if (node.larger_side() <= kCountedSide || spans(node)) {
    Matrix space;
    measure_entries(block(node, space), node, true);
    return;
  }
  find_spectrum(node, 0, least, {});
}

void PeeledBlocks::find_spectrum(Node& node,
                                 Index /*count*/,
                                 double /*least*/,
                                 const Judge& /*judge*/) const {
  if (node.complete) return;
  if (spans(node)) {
    if (node.rows >= 2 * leaf_) return;
    Matrix space;
    node.set_squares(squares_of(block(node, space), true));
    node.complete = true;
    return;
  }
  const Factors of = factors(node.row, node.rows, node.column, node.columns);
  const Matrix core =
      kernels::triangular_factor(of.X) * kernels::triangular_factor(of.Y).transpose();
  node.set_squares(kernels::singular_values(core).cwiseAbs2());
  node.complete = true;
  node.accurate = true;
  node.rest = 0;
  node.energy = node.tails.size() > 0 ? node.tails(0) : 0;
}

Triplets PeeledBlocks::triplets(const Node& node) const {
  Factors of = factors(node.row, node.rows, node.column, node.columns);
  Matrix left;
  Matrix right;
  const Matrix P = kernels::thin_qr(std::move(of.X), &left);
  const Matrix Q = kernels::thin_qr(std::move(of.Y), &right);
  const kernels::Svd core = kernels::svd(left * right.transpose());
  return {kernels::product(P, core.U), core.S, kernels::product(Q, core.V)};
}

}  // namespace matapprox::blocks
