#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/chord.hpp"
#include "kernels/chord_chain.hpp"
#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox::kernels {

namespace {

/// Width of the objective's column panels: a fixed function of the order, so that the sums over
/// panels do not depend on the machine.
Index objective_width(Index order) {
  if (order <= 4096) return 32;
  return order <= 32768 ? 16 : simd::kPanelUnit;
}

/// How many gradients are summed apart, each over every slots-th panel: at most 256 MiB together.
Index gradient_slots(Index panels, Index numbers) {
  constexpr Index kMostSlots = 8;
  constexpr Index kSlotNumbers = Index{1} << 25;
  return std::clamp(kSlotNumbers / numbers, Index{1}, std::clamp(panels, Index{1}, kMostSlots));
}

/// A few columns of the problem, held as row-major panels.
class ObjectivePanel {
 public:
  /// Works in `memory`, numbers_needed() of them.
  ObjectivePanel(const ChordChain& chain, Index width, double* memory)
      : chain_(chain),
        order_(chain.front().order),
        factors_(static_cast<Index>(chain.size())),
        panel_numbers_(panel_numbers(order_, width)),
        panels_(memory) {}

  static Index numbers_needed(const ChordChain& chain, Index width) {
    return (static_cast<Index>(chain.size()) + 1) * panel_numbers(chain.front().order, width);
  }

  /// 1/2 |W_1...W_M E - X E|^2 for the unit columns E at places first .. first+count-1 of
  /// `columns`; the residual stays in panel 0.
  double value(const Index* columns, Index first, Index count, const TargetPanel& target) {
    columns_ = columns + first;
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
  double* panel(Index m) { return panels_ + m * panel_numbers_; }

  /// A few cache lines more than a panel, so that no two start at the same place of a page: a load
  /// would otherwise wait for stores that only look like its own.
  static Index panel_numbers(Index order, Index width) { return order * width + 72; }

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
        const Index i = row_of(W, columns_[c], k);
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
        const Index i = row_of(W, columns_[c], k);
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

  const ChordChain& chain_;
  Index order_;
  Index factors_;
  const Index* columns_ = nullptr;
  Index count_ = 0;
  Index width_ = 0;
  Index panel_numbers_;
  double* panels_;
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

double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       std::span<const Index> columns,
                       const TargetPanel& target,
                       double* gradient) {
  const ChordChain chain = chain_of(pattern, values);
  const Index count = static_cast<Index>(columns.size());
  const Index numbers = pattern.stored_numbers();
  const Index width = std::min(objective_width(pattern.order), round_up(count, simd::kPanelUnit));
  const Index panels = count == 0 ? 0 : (count + width - 1) / width;
  const Index slots = gradient == nullptr ? panels : gradient_slots(panels, numbers);
  std::vector<double> panel_values(static_cast<std::size_t>(panels));
  thread_local Scratch slot_scratch;
  const ScratchLoan slot_memory(slot_scratch, gradient == nullptr ? 0 : slots * numbers);
  double* sums = gradient == nullptr ? nullptr : slot_memory.data();
  parallel_for(slots, [&](Index s) {
    thread_local Scratch scratch;
    const ScratchLoan memory(scratch, ObjectivePanel::numbers_needed(chain, width));
    ObjectivePanel work(chain, width, memory.data());
    if (sums != nullptr) std::fill_n(sums + s * numbers, numbers, 0.0);
    for (Index p = s; p < panels; p += slots) {
      const Index first = p * width;
      panel_values[static_cast<std::size_t>(p)] =
          work.value(columns.data(), first, std::min(width, count - first), target);
      if (sums != nullptr) work.add_gradient(sums + s * numbers);
    }
  });
  if (gradient != nullptr) sum_slots(sums, slots, numbers, gradient);
  double value = 0.0;
  for (const double v : panel_values) value += v;
  return value;
}

double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       const TargetPanel& target,
                       double* gradient) {
  std::vector<Index> all(static_cast<std::size_t>(pattern.order));
  std::iota(all.begin(), all.end(), Index{0});
  return chord_objective(pattern, values, all, target, gradient);
}

}  // namespace matapprox::kernels
