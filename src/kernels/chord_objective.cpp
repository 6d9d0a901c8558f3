#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/chord_chain.hpp"
#include "kernels/chord_simd.hpp"
#include "kernels/scratch.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox::kernels {

namespace {

/// The transposed factors of a chain, stored as factors whose weights are in the order in which a
/// product reads them.
template <class T>
class TransposedChain {
 public:
  static Index numbers_needed(const ChordChain<T>& chain) {
    Index numbers = 0;
    for (const simd::ChordFactor<T>& W : chain) numbers += W.order * W.links;
    return numbers;
  }

  /// Uses `memory`, which has numbers_needed() numbers.
  TransposedChain(const ChordChain<T>& chain, T* memory) {
    for (const simd::ChordFactor<T>& W : chain) {
      std::vector<Index>& offsets = offsets_.emplace_back(W.offsets, W.offsets + W.links);
      for (Index& offset : offsets) offset = offset == 0 ? 0 : W.order - offset;
      const auto copy_rows = [&](Index first, Index last) {
        for (Index j = first; j < last; ++j) {
          for (Index k = 0; k < W.links; ++k) {
            const Index i = j + offsets[static_cast<std::size_t>(k)];
            memory[j * W.links + k] = *W.value(i < W.order ? i : i - W.order, k);
          }
        }
      };
      over_rows(RowWork::kSpread, W.order, copy_rows);
      factors_.push_back({W.order, W.links, offsets.data(), memory, W.links, 1});
      memory += W.order * W.links;
    }
  }

  const simd::ChordFactor<T>& factor(Index m) const {
    return factors_[static_cast<std::size_t>(m)];
  }

 private:
  std::vector<std::vector<Index>> offsets_;
  ChordChain<T> factors_;
};

/// A few columns of the problem, stored as row-major panels.
template <class T>
class ObjectivePanel {
 public:
  /// Uses `memory`, which has numbers_needed() numbers; `transposed` may be null, but saves time.
  ObjectivePanel(const ChordChain<T>& chain,
                 const TransposedChain<T>* transposed,
                 ChordForm form,
                 Index width,
                 RowWork work,
                 T* memory)
      : simd_(simd::chord_functions<T>()),
        chain_(chain),
        transposed_(transposed),
        form_(form),
        order_(chain.front().order),
        factors_(static_cast<Index>(chain.size())),
        work_(work),
        panel_numbers_(panel_numbers(order_, width)),
        panels_(memory) {}

  static Index numbers_needed(const ChordChain<T>& chain, ChordForm form, Index width) {
    const Index panels = static_cast<Index>(chain.size()) + (form == ChordForm::kProduct ? 1 : 2);
    return panels * panel_numbers(chain.front().order, width);
  }

  /// Selects the unit columns at positions first .. first+count-1 of `columns` for later calls.
  void take(const Index* columns, Index first, Index count) {
    columns_ = columns + first;
    first_ = first;
    count_ = count;
    width_ = round_up(count, simd::kPanelUnit<T>);
  }

  /// 1/2 |Z E - X E|^2 for the unit columns E; the residual stays in panel 0.
  double value(const TargetPanelOf<T>& target) {
    last_factor_columns(factor(factors_ - 1), panel(factors_ - 1));
    for (Index m = factors_ - 2; m >= 0; --m) {
      multiply(simd_.rows, factor(m), panel(m + 1), panel(m));
    }
    if (form_ == ChordForm::kSymmetrized) average(panel(0), transposed_columns());
    T* X = panel(factors_);
    target(first_, count_, X);
    if (count_ < width_) widen(X);
    return 0.5 * subtract_and_square(panel(0), X);
  }

  /// Computes the change of W_1...W_M E along the direction V: D_m = W_m D_m+1 + V_m T_m+1. The
  /// last one, D_1, replaces the residual in panel 0.
  void tangent(const ChordChain<T>& direction) {
    const auto at = [](const ChordChain<T>& chain, Index m) -> const simd::ChordFactor<T>& {
      return chain[static_cast<std::size_t>(m)];
    };
    // Alternates between two panels that the T_m do not need.
    const auto change = [this](Index m) { return panel(m % 2 == 0 ? 0 : factors_); };
    last_factor_columns(at(direction, factors_ - 1), change(factors_ - 1));
    if (factors_ > 1) last_factor_columns(factor(factors_ - 1), panel(factors_ - 1));
    for (Index m = factors_ - 2; m >= 0; --m) {
      multiply(simd_.rows, factor(m), change(m + 1), change(m));
      multiply(simd_.add_rows, at(direction, m), panel(m + 1), change(m));
      if (m > 0) multiply(simd_.rows, factor(m), panel(m + 1), panel(m));
    }
  }

  /// Adds the derivative of <G_1, W_1...W_M E>, G_1 in panel 0; panel m changes from T_m to G_m.
  void add_gradient(T* gradient) {
    for (Index m = 0; m + 1 < factors_; ++m) {
      over_rows(work_, order_, [&](Index first, Index last) {
        simd_.add_gradient(factor(m), first, last, width_, panel(m), panel(m + 1), gradient);
      });
      multiply_transposed(m, panel(m), panel(m + 1));
      gradient += order_ * factor(m).links;
    }
    add_last_gradient(gradient);
  }

 private:
  const simd::ChordFactor<T>& factor(Index m) const { return chain_[static_cast<std::size_t>(m)]; }
  T* panel(Index m) { return panels_ + m * panel_numbers_; }

  /// A few cache lines more than a panel, so that no two panels start at the same offset of a page:
  /// a load would otherwise wait for stores whose addresses only agree within a page.
  static Index panel_numbers(Index order, Index width) {
    return order * width + 9 * simd::kPanelUnit<T>;
  }

  void multiply(decltype(simd::ChordFunctions<T>::rows) product,
                const simd::ChordFactor<T>& W,
                const T* x,
                T* y) const {
    over_rows(
        work_, order_, [&](Index first, Index last) { product(W, first, last, width_, x, y); });
  }

  /// Y = W_m+1^T X
  void multiply_transposed(Index m, const T* x, T* y) const {
    if (transposed_ != nullptr) {
      multiply(simd_.rows, transposed_->factor(m), x, y);
    } else {
      multiply(simd_.transpose_rows, factor(m), x, y);
    }
  }

  /// Row of W whose link k is at column c.
  static Index row_of(const simd::ChordFactor<T>& W, Index c, Index k) {
    const Index i = c - W.offsets[k];
    return i < 0 ? i + W.order : i;
  }

  /// Y = W_M E: W_M times unit columns is a few of its stored entries.
  void last_factor_columns(const simd::ChordFactor<T>& W, T* Y) const {
    clear(Y);
    for (Index c = 0; c < count_; ++c) {
      for (Index k = 0; k < W.links; ++k) {
        const Index i = row_of(W, columns_[c], k);
        Y[i * width_ + c] = W.values[i * W.links + k];
      }
    }
  }

  /// W_M^T ... W_1^T E, in one of the two panels that the T_m do not need.
  const T* transposed_columns() const {
    const auto at = [this](Index m) { return panels_ + (factors_ + m % 2) * panel_numbers_; };
    first_factor_rows(factor(0), at(0));
    for (Index m = 1; m < factors_; ++m) multiply_transposed(m, at(m - 1), at(m));
    return at(factors_ - 1);
  }

  /// Y = W_1^T E: rows of W_1, as columns.
  void first_factor_rows(const simd::ChordFactor<T>& W, T* Y) const {
    clear(Y);
    for (Index c = 0; c < count_; ++c) {
      const Index i = columns_[c];
      for (Index k = 0; k < W.links; ++k) {
        const Index j = i + W.offsets[k];
        Y[(j < W.order ? j : j - W.order) * width_ + c] = W.values[i * W.links + k];
      }
    }
  }

  /// t = (t + u) / 2
  void average(T* t, const T* u) const {
    over_rows(work_, order_, [&](Index first, Index last) {
      for (Index i = first * width_; i < last * width_; ++i) t[i] = (t[i] + u[i]) / 2;
    });
  }

  void clear(T* Y) const {
    over_rows(work_, order_, [&](Index first, Index last) {
      std::fill(Y + first * width_, Y + last * width_, T{0});
    });
  }

  /// dW_M[i, k] += G_M[i, (i + offset k) mod N], for the entries of last_factor_columns().
  void add_last_gradient(T* gradient) {
    const simd::ChordFactor<T>& W = factor(factors_ - 1);
    const T* G = panel(factors_ - 1);
    for (Index c = 0; c < count_; ++c) {
      for (Index k = 0; k < W.links; ++k) {
        const Index i = row_of(W, columns_[c], k);
        gradient[i * W.links + k] += G[i * width_ + c];
      }
    }
  }

  /// Widens rows of count_ numbers to rows of width_, with zeros at the end; from the last row up,
  /// in place.
  void widen(T* X) const {
    for (Index i = order_ - 1; i >= 0; --i) {
      std::copy_backward(X + i * count_, X + (i + 1) * count_, X + i * width_ + count_);
      std::fill(X + i * width_ + count_, X + (i + 1) * width_, T{0});
    }
  }

  /// t -= x; returns the sum of squares of the result. Sums of chunks, computed by any thread, are
  /// added in order and in double: a float would lose digits in a long sum.
  double subtract_and_square(T* t, const T* x) const {
    std::vector<double> sums(static_cast<std::size_t>(row_chunks(order_)));
    const auto chunk = [&](Index c) {
      const Index first = c * kRowChunk * width_;
      const Index last = std::min(order_, (c + 1) * kRowChunk) * width_;
      constexpr Index kPiece = sizeof(T) < sizeof(double) ? 4096 : kRowChunk * 64;
      for (Index i = first; i < last; i += kPiece) {
        const Index count = std::min(kPiece, last - i);
        sums[static_cast<std::size_t>(c)] +=
            static_cast<double>(simd_.subtract_and_square(t + i, x + i, count));
      }
    };
    if (work_ == RowWork::kSpread) {
      parallel_for(row_chunks(order_), chunk);
    } else {
      for (Index c = 0; c < row_chunks(order_); ++c) chunk(c);
    }
    return std::accumulate(sums.begin(), sums.end(), 0.0);
  }

  const simd::ChordFunctions<T>& simd_;
  const ChordChain<T>& chain_;
  const TransposedChain<T>* transposed_;
  ChordForm form_;
  Index order_;
  Index factors_;
  RowWork work_;
  const Index* columns_ = nullptr;
  Index first_ = 0;
  Index count_ = 0;
  Index width_ = 0;
  Index panel_numbers_;
  T* panels_;
};

/// gradient = the sum of the slots, in order.
template <class T>
void sum_slots(const T* slots, Index count, Index numbers, T* gradient) {
  constexpr Index kChunk = 8192;
  constexpr Index kPiece = 1024;  // stays in the first-level cache while the slots are added to it
  parallel_for((numbers + kChunk - 1) / kChunk, [&](Index chunk) {
    const Index end = std::min(numbers, (chunk + 1) * kChunk);
    for (Index first = chunk * kChunk; first < end; first += kPiece) {
      const Index piece = std::min(kPiece, end - first);
      T* __restrict sum = gradient + first;
      std::copy_n(slots + first, piece, sum);
      for (Index s = 1; s < count; ++s) {
        const T* __restrict slot = slots + s * numbers + first;
        for (Index i = 0; i < piece; ++i) sum[i] += slot[i];
      }
    }
  });
}

/// Sums over panels of the given columns: calls function(panel number, ObjectivePanel, T* gradient
/// to add to), and sets `gradient`, unless null, to the sum.
template <class T, class Function>
void sum_over_panels(const ChordPattern& pattern,
                     const T* values,
                     ChordForm form,
                     std::span<const Index> columns,
                     Index width,
                     T* gradient,
                     const Function& function) {
  const ChordChain<T> chain = chain_of(pattern, values);
  const Index n = pattern.order;
  const auto count = static_cast<Index>(columns.size());
  const Index panels = (count + width - 1) / width;
  const Index numbers = pattern.stored_numbers();
  const Index slots = gradient == nullptr ? panels : gradient_slots<T>(panels, numbers);
  const bool spread = slots < threads() && n >= 2 * kRowChunk;
  const RowWork work = spread ? RowWork::kSpread : RowWork::kSerial;

  thread_local Scratch<T> slot_scratch;
  const ScratchBuffer slot_memory(slot_scratch,
                                  gradient == nullptr || slots == 1 ? 0 : slots * numbers);
  T* sums = gradient == nullptr || slots == 1 ? gradient : slot_memory.data();

  // A copy pays if several panels use it.
  constexpr Index kPanelsPerCopy = 3;
  const bool copies =
      panels >= kPanelsPerCopy && (gradient != nullptr || form == ChordForm::kSymmetrized);
  thread_local Scratch<T> copy_scratch;
  const ScratchBuffer copy_memory(copy_scratch,
                                  copies ? TransposedChain<T>::numbers_needed(chain) : 0);
  std::optional<TransposedChain<T>> transposed;
  if (copies) transposed.emplace(chain, copy_memory.data());

  const double flops = (form == ChordForm::kProduct ? 6.0 : 8.0) * static_cast<double>(numbers) *
                       static_cast<double>(count);
  over_panels(work, slots, flops, [&](Index s) {
    thread_local Scratch<T> scratch;
    const ScratchBuffer memory(scratch, ObjectivePanel<T>::numbers_needed(chain, form, width));
    ObjectivePanel<T> panel(
        chain, transposed ? &*transposed : nullptr, form, width, work, memory.data());
    T* sum = sums == nullptr ? nullptr : sums + s * numbers;
    if (sum != nullptr) std::fill_n(sum, numbers, T{0});
    for (Index p = s; p < panels; p += slots) {
      panel.take(columns.data(), p * width, std::min(width, count - p * width));
      function(p, panel, sum);
    }
  });
  if (gradient != nullptr && slots > 1) sum_slots(sums, slots, numbers, gradient);
}

std::vector<Index> all_columns(Index order) {
  std::vector<Index> all(static_cast<std::size_t>(order));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

}  // namespace

template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       std::span<const Index> columns,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form) {
  const Index width = objective_width<T>(pattern.order, static_cast<Index>(columns.size()));
  std::vector<double> parts(columns.size() / static_cast<std::size_t>(width) + 1);
  sum_over_panels<T>(pattern,
                     values,
                     form,
                     columns,
                     width,
                     gradient,
                     [&](Index p, ObjectivePanel<T>& panel, T* sum) {
                       parts[static_cast<std::size_t>(p)] = panel.value(target);
                       if (sum != nullptr) panel.add_gradient(sum);
                     });
  return std::accumulate(parts.begin(), parts.end(), 0.0);
}

template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form) {
  return chord_objective(pattern, values, all_columns(pattern.order), target, gradient, form);
}

template <class T>
void chord_gauss_newton_product(const ChordPattern& pattern,
                                const T* values,
                                const Given<T>* direction,
                                Given<T>* result) {
  const ChordChain<T> change = chain_of<T>(pattern, direction);
  const std::vector<Index> columns = all_columns(pattern.order);
  sum_over_panels<T>(pattern,
                     values,
                     ChordForm::kProduct,
                     columns,
                     objective_width<T>(pattern.order, pattern.order),
                     result,
                     [&](Index, ObjectivePanel<T>& panel, T* sum) {
                       panel.tangent(change);
                       panel.add_gradient(sum);
                     });
}

template double chord_objective(const ChordPattern&,
                                const double*,
                                std::span<const Index>,
                                const TargetPanelOf<double>&,
                                double*,
                                ChordForm);
template double chord_objective(const ChordPattern&,
                                const float*,
                                std::span<const Index>,
                                const TargetPanelOf<float>&,
                                float*,
                                ChordForm);
template double chord_objective(
    const ChordPattern&, const double*, const TargetPanelOf<double>&, double*, ChordForm);
template double chord_objective(
    const ChordPattern&, const float*, const TargetPanelOf<float>&, float*, ChordForm);
template void chord_gauss_newton_product(const ChordPattern&,
                                         const double*,
                                         const double*,
                                         double*);
template void chord_gauss_newton_product(const ChordPattern&, const float*, const float*, float*);

}  // namespace matapprox::kernels
