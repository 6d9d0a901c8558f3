#include "kernels/chord.hpp"

#include <algorithm>
#include <utility>

#include "core/require.hpp"
#include "kernels/chord_chain.hpp"
#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::kernels {

namespace {

// Widest panel of a product: a row is then four cache lines.
constexpr Index kProductWidth = 32;
// Up to this many columns go one by one, as vectors.
constexpr Index kVectorColumns = 2;
// Rows of one task where a single factor is spread over the threads.
constexpr Index kRowChunk = 1024;
// From this order on, transposed products of panels copy each factor link-major first: each link
// then reads its values one after the other, where a row would fall out of the cache between two.
constexpr Index kLinkMajorOrder = 4096;

/// A product with the chain or its transpose, on blocks of a few columns.
class ChainProduct {
 public:
  /// `spread`: the threads share the rows of each factor.
  ChainProduct(ChordChain chain, bool transposed, bool spread)
      : chain_(std::move(chain)),
        order_(chain_.front().order),
        transposed_(transposed),
        spread_(spread) {
    if (!transposed) std::reverse(chain_.begin(), chain_.end());
    for (const simd::ChordFactor& W : chain_) most_links_ = std::max(most_links_, W.links);
  }

  /// One column. Vectors are held twice, one copy after the other, so that every link is a
  /// contiguous shifted segment.
  void apply_to_vector(const double* x, double* y) const {
    thread_local Scratch scratch;
    const ScratchLoan memory(scratch, 4 * order_ + (transposed_ ? copy_numbers() : 0));
    double* from = memory.data();
    double* to = from + 2 * order_;
    double* copy = to + 2 * order_;
    std::copy_n(x, order_, from);
    std::copy_n(x, order_, from + order_);
    const auto product = transposed_ ? simd::chord_transpose_vector : simd::chord_vector;
    for (const simd::ChordFactor& stored : chain_) {
      const simd::ChordFactor W = transposed_ ? link_major(stored, copy) : stored;
      over_rows([&](Index first, Index last) {
        product(W, first, last, from, to);
        std::copy(to + first, to + last, to + order_ + first);
      });
      std::swap(from, to);
    }
    std::copy_n(from, order_, y);
  }

  /// A few columns, through row-major panels.
  void apply_to_panel(const ConstBlock& X, Block Y) const {
    const bool copies = transposed_ && order_ >= kLinkMajorOrder;
    const Index width = round_up(X.cols(), simd::kPanelUnit);
    thread_local Scratch scratch;
    const ScratchLoan memory(scratch, 2 * order_ * width + (copies ? copy_numbers() : 0));
    double* from = memory.data();
    double* to = from + order_ * width;
    double* copy = to + order_ * width;
    over_rows([&](Index first, Index last) {
      simd::panel_from_columns(
          X.data() + first, X.outerStride(), last - first, X.cols(), width, from + first * width);
    });
    const auto product = transposed_ ? simd::chord_transpose_rows : simd::chord_rows;
    for (const simd::ChordFactor& stored : chain_) {
      const simd::ChordFactor W = copies ? link_major(stored, copy) : stored;
      over_rows([&](Index first, Index last) { product(W, first, last, width, from, to); });
      std::swap(from, to);
    }
    over_rows([&](Index first, Index last) {
      simd::columns_from_panel(
          from + first * width, width, last - first, Y.cols(), Y.data() + first, Y.outerStride());
    });
  }

 private:
  /// Calls body(first, last) for the rows: all, or chunk by chunk on the threads.
  template <class Body>
  void over_rows(const Body& body) const {
    if (!spread_) {
      body(Index{0}, order_);
      return;
    }
    parallel_for((order_ + kRowChunk - 1) / kRowChunk,
                 [&](Index c) { body(c * kRowChunk, std::min(order_, (c + 1) * kRowChunk)); });
  }

  simd::ChordFactor link_major(const simd::ChordFactor& W, double* copy) const {
    over_rows([&](Index first, Index last) { simd::chord_link_major(W, first, last, copy); });
    return {W.order, W.links, W.offsets, copy, 1, simd::link_major_stride(W.order)};
  }

  Index copy_numbers() const { return most_links_ * simd::link_major_stride(order_); }

  ChordChain chain_;
  Index order_;
  bool transposed_;
  bool spread_;
  Index most_links_ = 0;
};

void apply_chain(const ChordPattern& pattern,
                 const double* values,
                 bool transposed,
                 const ConstBlock& X,
                 Block& Y) {
  const Index n = pattern.order;
  const Index columns = X.cols();
  require(X.rows() == n && Y.rows() == n && Y.cols() == columns,
          "chord product: a chain of order {} times {} x {} does not give {} x {}",
          n,
          X.rows(),
          columns,
          Y.rows(),
          Y.cols());
  if (columns == 0 || n == 0) return;
  const bool vectors = columns <= kVectorColumns;
  const Index width = vectors ? 1 : kProductWidth;
  const Index panels = (columns + width - 1) / width;
  // Whether threads share a panel or take one each does not change the bits.
  const bool spread = panels < Index{2} * threads() && n >= 2 * kRowChunk;
  const ChainProduct product(chain_of(pattern, values), transposed, spread);
  const auto apply_to = [&](Index p) {
    const Index first = p * width;
    const Index count = std::min(width, columns - first);
    if (vectors) {
      product.apply_to_vector(X.col(first).data(), Y.col(first).data());
    } else {
      product.apply_to_panel(X.middleCols(first, count), Y.middleCols(first, count));
    }
  };
  if (spread) {
    for (Index p = 0; p < panels; ++p) apply_to(p);
  } else {
    parallel_for(panels, apply_to);
  }
}

}  // namespace

void chord_apply(const ChordPattern& pattern, const double* values, const ConstBlock& X, Block Y) {
  apply_chain(pattern, values, false, X, Y);
}

void chord_apply_transpose(const ChordPattern& pattern,
                           const double* values,
                           const ConstBlock& X,
                           Block Y) {
  apply_chain(pattern, values, true, X, Y);
}

}  // namespace matapprox::kernels
