#include "kernels/chord.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/require.hpp"
#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::kernels {

namespace {

constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// The factors of a chain in the kernels' form.
std::vector<simd::ChordFactor> chain_of(const ChordPattern& pattern, const double* values) {
  std::vector<simd::ChordFactor> chain;
  for (Index m = 0; m < pattern.factors(); ++m) {
    chain.push_back({pattern.order,
                     pattern.links(m),
                     pattern.offsets[static_cast<std::size_t>(m)].data(),
                     values});
    values += pattern.order * pattern.links(m);
  }
  return chain;
}

using Chain = std::vector<simd::ChordFactor>;

Chain in_order_of_application(Chain chain, bool transposed) {
  if (!transposed) std::reverse(chain.begin(), chain.end());
  return chain;
}

// ---------------------------------------------------------------------------------- products

// Widest panel of a product: a row is then four cache lines.
constexpr Index kProductWidth = 32;
// Up to this many columns go one by one, as vectors.
constexpr Index kVectorColumns = 2;
// Rows of one task where a single factor is spread over the threads.
constexpr Index kRowChunk = 1024;

/// Calls body(first, last) over chunks of rows, spread over the threads if that is worth it.
template <class Body>
void over_rows(Index rows, bool spread, const Body& body) {
  if (!spread) {
    body(Index{0}, rows);
    return;
  }
  parallel_for((rows + kRowChunk - 1) / kRowChunk,
               [&](Index c) { body(c * kRowChunk, std::min(rows, (c + 1) * kRowChunk)); });
}

/// One column: y = the chain times x. Vectors are held twice, one copy after the other, so that
/// every link is a contiguous shifted segment.
void apply_to_vector(const Chain& chain, bool transposed, bool spread, const double* x, double* y) {
  const Index n = chain.front().order;
  Scratch scratch;
  double* from = scratch.reserve(4 * n);
  double* to = from + 2 * n;
  std::copy_n(x, n, from);
  std::copy_n(x, n, from + n);
  const auto product = transposed ? simd::chord_transpose_vector : simd::chord_vector;
  for (const simd::ChordFactor& W : chain) {
    over_rows(n, spread, [&](Index first, Index last) {
      product(W, first, last, from, to);
      std::copy(to + first, to + last, to + n + first);
    });
    std::swap(from, to);
  }
  std::copy_n(from, n, y);
}

/// A few columns, through row-major panels.
void apply_to_panel(
    const Chain& chain, bool transposed, bool spread, const ConstBlock& X, Block Y) {
  const Index n = chain.front().order;
  const Index width = round_up(X.cols(), simd::kPanelUnit);
  Scratch scratch;
  double* from = scratch.reserve(2 * n * width);
  double* to = from + n * width;
  over_rows(n, spread, [&](Index first, Index last) {
    simd::panel_from_columns(
        X.data() + first, X.outerStride(), last - first, X.cols(), width, from + first * width);
  });
  const auto product = transposed ? simd::chord_transpose_rows : simd::chord_rows;
  for (const simd::ChordFactor& W : chain) {
    over_rows(
        n, spread, [&](Index first, Index last) { product(W, first, last, width, from, to); });
    std::swap(from, to);
  }
  over_rows(n, spread, [&](Index first, Index last) {
    simd::columns_from_panel(
        from + first * width, width, last - first, Y.cols(), Y.data() + first, Y.outerStride());
  });
}

void apply_chain(const ChordPattern& pattern,
                 const double* values,
                 bool transposed,
                 const ConstBlock& X,
                 Block Y) {
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
  const Chain chain = in_order_of_application(chain_of(pattern, values), transposed);
  const bool vectors = columns <= kVectorColumns;
  const Index width = vectors ? 1 : kProductWidth;
  const Index panels = (columns + width - 1) / width;
  const auto apply_to = [&](Index p, bool spread) {
    const Index first = p * width;
    const Index count = std::min(width, columns - first);
    if (vectors) {
      apply_to_vector(chain, transposed, spread, X.col(first).data(), Y.col(first).data());
    } else {
      apply_to_panel(
          chain, transposed, spread, X.middleCols(first, count), Y.middleCols(first, count));
    }
  };
  // Whether threads share a panel or take one each does not change the bits.
  const bool share = panels < 2 * threads() && n >= 2 * kRowChunk;
  if (share) {
    for (Index p = 0; p < panels; ++p) apply_to(p, true);
  } else {
    parallel_for(panels, [&](Index p) { apply_to(p, false); });
  }
}

// ------------------------------------------------------------------------ objective and gradient

/// Width of the objective's column panels: a fixed function of the shape, so that the sums over
/// panels do not depend on the machine.
Index objective_width(Index order, Index factors) {
  constexpr Index kPanelNumbers = Index{1} << 17;
  for (const Index width : {Index{32}, Index{16}}) {
    if ((factors + 1) * order * width <= kPanelNumbers) return width;
  }
  return order <= 8192 ? 16 : simd::kPanelUnit;
}

/// How many gradients are summed apart, each over every slots-th panel: at most 256 MiB together.
Index gradient_slots(Index panels, Index numbers) {
  constexpr Index kMostSlots = 8;
  constexpr Index kSlotNumbers = Index{1} << 25;
  return std::clamp(kSlotNumbers / numbers, Index{1}, std::min(kMostSlots, panels));
}

/// The columns first .. first+count-1 of the problem, held as row-major panels.
class ObjectivePanel {
 public:
  ObjectivePanel(const Chain& chain, Index width)
      : chain_(chain), order_(chain.front().order), factors_(static_cast<Index>(chain.size())) {
    panels_ = memory_.reserve((factors_ + 1) * order_ * width);
  }

  /// 1/2 |W_1...W_M E - X E|^2 for the unit columns E; the residual stays in panel 0.
  double value(Index first, Index count, const TargetPanel& target) {
    first_ = first;
    count_ = count;
    width_ = round_up(count, simd::kPanelUnit);
    last_factor_columns();
    for (Index m = factors_ - 2; m >= 0; --m) {
      simd::chord_rows(factor(m), 0, order_, width_, panel(m + 1), panel(m));
    }
    double* X = panel(factors_);
    target(first, count, X);
    if (count < width_) widen(X);
    return 0.5 * simd::subtract_and_square(panel(0), X, order_ * width_);
  }

  /// Adds the derivative of the last value(); panel m turns from T_m into G_m.
  void add_gradient(double* gradient) {
    for (Index m = 0; m + 1 < factors_; ++m) {
      simd::chord_add_gradient(factor(m), width_, panel(m), panel(m + 1), gradient);
      simd::chord_transpose_rows(factor(m), 0, order_, width_, panel(m), panel(m + 1));
      gradient += order_ * factor(m).links;
    }
    add_last_gradient(gradient);
  }

 private:
  const simd::ChordFactor& factor(Index m) const { return chain_[static_cast<std::size_t>(m)]; }
  double* panel(Index m) { return panels_ + m * order_ * width_; }

  /// Row of W that holds column c by link k.
  static Index row_of(const simd::ChordFactor& W, Index c, Index k) {
    const Index i = c - W.offsets[k];
    return i < 0 ? i + W.order : i;
  }

  /// T_M: W_M times unit columns is a few of its stored entries.
  void last_factor_columns() {
    const simd::ChordFactor& W = factor(factors_ - 1);
    double* T = panel(factors_ - 1);
    std::fill_n(T, order_ * width_, 0.0);
    for (Index c = 0; c < count_; ++c) {
      for (Index k = 0; k < W.links; ++k) {
        const Index i = row_of(W, first_ + c, k);
        T[i * width_ + c] = W.values[i * W.links + k];
      }
    }
  }

  /// dW_M[i, k] += G_M[i, (i + offset k) mod N], the same entries.
  void add_last_gradient(double* gradient) {
    const simd::ChordFactor& W = factor(factors_ - 1);
    const double* G = panel(factors_ - 1);
    for (Index c = 0; c < count_; ++c) {
      for (Index k = 0; k < W.links; ++k) {
        const Index i = row_of(W, first_ + c, k);
        gradient[i * W.links + k] += G[i * width_ + c];
      }
    }
  }

  /// From rows of count_ numbers to rows of width_, zeros behind; from the last row on, in place.
  void widen(double* X) const {
    for (Index i = order_ - 1; i >= 0; --i) {
      std::copy_backward(X + i * count_, X + (i + 1) * count_, X + i * width_ + count_);
      std::fill(X + i * width_ + count_, X + (i + 1) * width_, 0.0);
    }
  }

  const Chain& chain_;
  Index order_;
  Index factors_;
  Index first_ = 0;
  Index count_ = 0;
  Index width_ = 0;
  Scratch memory_;
  double* panels_ = nullptr;
};

/// gradient = the sum of the slots, in order.
void sum_slots(const double* slots, Index count, Index numbers, double* gradient) {
  constexpr Index kChunk = 8192;
  parallel_for((numbers + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index end = std::min(numbers, (chunk + 1) * kChunk);
    for (Index i = chunk * kChunk; i < end; ++i) {
      double sum = slots[i];
      for (Index s = 1; s < count; ++s) sum += slots[s * numbers + i];
      gradient[i] = sum;
    }
  });
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

double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       const TargetPanel& target,
                       double* gradient) {
  const Chain chain = chain_of(pattern, values);
  const Index n = pattern.order;
  const Index numbers = pattern.stored_numbers();
  const Index width = objective_width(n, pattern.factors());
  const Index panels = (n + width - 1) / width;
  const Index slots = gradient == nullptr ? panels : gradient_slots(panels, numbers);
  std::vector<double> panel_values(static_cast<std::size_t>(panels));
  Scratch scratch;
  double* sums = gradient == nullptr ? nullptr : scratch.reserve(slots * numbers);
  parallel_for(slots, [&](Index s) {
    ObjectivePanel work(chain, std::min(width, round_up(n, simd::kPanelUnit)));
    if (sums != nullptr) std::fill_n(sums + s * numbers, numbers, 0.0);
    for (Index p = s; p < panels; p += slots) {
      const Index first = p * width;
      panel_values[static_cast<std::size_t>(p)] =
          work.value(first, std::min(width, n - first), target);
      if (sums != nullptr) work.add_gradient(sums + s * numbers);
    }
  });
  if (gradient != nullptr) sum_slots(sums, slots, numbers, gradient);
  double value = 0.0;
  for (const double v : panel_values) value += v;
  return value;
}

}  // namespace matapprox::kernels
