#include "matapprox/kernels/chord.hpp"

#include <algorithm>
#include <utility>

#include "kernels/chord_chain.hpp"
#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::kernels {

namespace {

// From this order on, transposed products of panels copy each factor link-major first: each link
// then reads its values contiguously; otherwise a row would be evicted from the cache between two
// reads.
constexpr Index kLinkMajorOrder = 4096;

/// A product with the chain or its transpose, on blocks of a few columns.
template <class T>
class ChainProduct {
 public:
  ChainProduct(ChordChain<T> chain, bool transposed, RowWork work)
      : simd_(simd::chord_functions<T>()),
        chain_(std::move(chain)),
        order_(chain_.front().order),
        transposed_(transposed),
        work_(work) {
    if (!transposed) std::reverse(chain_.begin(), chain_.end());
    for (const simd::ChordFactor<T>& W : chain_) max_links_ = std::max(max_links_, W.links);
  }

  /// Multiplies one column. Vectors are stored twice, one copy after the other, so that every link
  /// is a contiguous shifted segment.
  void apply_to_vector(const T* x, T* y) const {
    thread_local Scratch<T> scratch;
    const ScratchBuffer memory(scratch, 4 * order_ + (transposed_ ? copy_numbers() : 0));
    T* from = memory.data();
    T* to = from + 2 * order_;
    T* copy = to + 2 * order_;
    std::copy_n(x, order_, from);
    std::copy_n(x, order_, from + order_);
    const auto product = transposed_ ? simd_.transpose_vector : simd_.vector;
    for (const simd::ChordFactor<T>& stored : chain_) {
      const simd::ChordFactor<T> W = transposed_ ? link_major(stored, copy) : stored;
      over_rows([&](Index first, Index last) {
        product(W, first, last, from, to);
        std::copy(to + first, to + last, to + order_ + first);
      });
      std::swap(from, to);
    }
    std::copy_n(from, order_, y);
  }

  /// Multiplies a few columns, through row-major panels.
  void apply_to_panel(const ConstBlockOf<T>& X, BlockOf<T> Y) const {
    const bool copies = transposed_ && order_ >= kLinkMajorOrder;
    const Index width = round_up(X.cols(), simd::kPanelUnit<T>);
    thread_local Scratch<T> scratch;
    const ScratchBuffer memory(scratch, 2 * order_ * width + (copies ? copy_numbers() : 0));
    T* from = memory.data();
    T* to = from + order_ * width;
    T* copy = to + order_ * width;
    over_rows([&](Index first, Index last) {
      simd_.panel_from_columns(
          X.data() + first, X.outerStride(), last - first, X.cols(), width, from + first * width);
    });
    const auto product = transposed_ ? simd_.transpose_rows : simd_.rows;
    for (const simd::ChordFactor<T>& stored : chain_) {
      const simd::ChordFactor<T> W = copies ? link_major(stored, copy) : stored;
      over_rows([&](Index first, Index last) { product(W, first, last, width, from, to); });
      std::swap(from, to);
    }
    over_rows([&](Index first, Index last) {
      simd_.columns_from_panel(
          from + first * width, width, last - first, Y.cols(), Y.data() + first, Y.outerStride());
    });
  }

 private:
  template <class Function>
  void over_rows(const Function& function) const {
    kernels::over_rows(work_, order_, function);
  }

  simd::ChordFactor<T> link_major(const simd::ChordFactor<T>& W, T* copy) const {
    over_rows([&](Index first, Index last) { simd_.link_major(W, first, last, copy); });
    return {W.order, W.links, W.offsets, copy, 1, simd::link_major_stride(W.order)};
  }

  Index copy_numbers() const { return max_links_ * simd::link_major_stride(order_); }

  const simd::ChordFunctions<T>& simd_;
  ChordChain<T> chain_;
  Index order_;
  bool transposed_;
  RowWork work_;
  Index max_links_ = 0;
};

template <class T>
void apply_chain(const ChordPattern& pattern,
                 const T* values,
                 bool transposed,
                 const ConstBlockOf<T>& X,
                 BlockOf<T>& Y) {
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
  const Index width = vectors ? 1 : kProductWidth<T>;
  const Index panels = (columns + width - 1) / width;
  const bool spread = panels < Index{2} * threads() && n >= 2 * kRowChunk;
  const RowWork work = spread ? RowWork::kSpread : RowWork::kSerial;
  const ChainProduct<T> product(chain_of(pattern, values), transposed, work);
  const double flops = 2.0 * static_cast<double>(pattern.stored_numbers() * columns);
  over_panels(work, panels, flops, [&](Index p) {
    const Index first = p * width;
    const Index count = std::min(width, columns - first);
    if (vectors) {
      product.apply_to_vector(X.col(first).data(), Y.col(first).data());
    } else {
      product.apply_to_panel(X.middleCols(first, count), Y.middleCols(first, count));
    }
  });
}

}  // namespace

template <class T>
void chord_apply(const ChordPattern& pattern,
                 const T* values,
                 const Given<ConstBlockOf<T>>& X,
                 Given<BlockOf<T>> Y) {
  apply_chain<T>(pattern, values, false, X, Y);
}

template <class T>
void chord_apply_transpose(const ChordPattern& pattern,
                           const T* values,
                           const Given<ConstBlockOf<T>>& X,
                           Given<BlockOf<T>> Y) {
  apply_chain<T>(pattern, values, true, X, Y);
}

template void chord_apply(const ChordPattern&,
                          const double*,
                          const ConstBlockOf<double>&,
                          BlockOf<double>);
template void chord_apply(const ChordPattern&,
                          const float*,
                          const ConstBlockOf<float>&,
                          BlockOf<float>);
template void chord_apply_transpose(const ChordPattern&,
                                    const double*,
                                    const ConstBlockOf<double>&,
                                    BlockOf<double>);
template void chord_apply_transpose(const ChordPattern&,
                                    const float*,
                                    const ConstBlockOf<float>&,
                                    BlockOf<float>);

}  // namespace matapprox::kernels
