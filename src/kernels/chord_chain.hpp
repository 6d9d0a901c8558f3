#pragma once

#include <algorithm>
#include <vector>

#include "kernels/chord_simd.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox::kernels {

/// The factors of a chain in the kernels' form, W_1 first.
template <class T>
using ChordChain = std::vector<simd::ChordFactor<T>>;

template <class T>
ChordChain<T> chain_of(const ChordPattern& pattern, const T* values) {
  ChordChain<T> chain;
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index links = pattern.links(m);
    const Index* offsets = pattern.offsets[static_cast<std::size_t>(m)].data();
    chain.push_back({pattern.order, links, offsets, values, links, 1});
    values += pattern.order * links;
  }
  return chain;
}

// Widest panel of a product: a row is then four cache lines.
template <class T>
inline constexpr Index kProductWidth = 4 * simd::kPanelUnit<T>;
// Up to this many columns are multiplied one by one, as vectors.
inline constexpr Index kVectorColumns = 2;

/// Number of gradients that are summed separately, each over every slots-th panel: at most 256 MiB
/// together, or just the result.
template <class T>
Index gradient_slots(Index panels, Index numbers) {
  constexpr Index kMaxSlots = 8;
  constexpr Index kSlotNumbers = (Index{1} << 28) / sizeof(T);
  return std::clamp(kSlotNumbers / numbers, Index{1}, std::clamp(panels, Index{1}, kMaxSlots));
}

constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Width of the objective's column panels: a fixed function of the order and the number of columns,
/// so that the sums over panels do not depend on the machine.
template <class T>
Index objective_width(Index order, Index columns) {
  constexpr Index kWideOrder = 65536;  // beyond this, memory matters more than time
  const Index widest = order <= kWideOrder ? 4 * simd::kPanelUnit<T> : simd::kPanelUnit<T>;
  return std::min(widest, round_up(std::max<Index>(columns, 1), simd::kPanelUnit<T>));
}

/// Execution of the work on one panel: by the calling thread, or with its rows spread over the
/// threads. Both give the same bits.
enum class RowWork { kSerial, kSpread };

// Number of rows of a task if a single factor is spread over the threads.
inline constexpr Index kRowChunk = 1024;

constexpr Index row_chunks(Index rows) { return (rows + kRowChunk - 1) / kRowChunk; }

/// Calls function(first, last) for the rows, all at once or chunk by chunk.
template <class Function>
void over_rows(RowWork work, Index rows, const Function& function) {
  if (work == RowWork::kSerial) {
    function(Index{0}, rows);
    return;
  }
  parallel_for(row_chunks(rows),
               [&](Index c) { function(c * kRowChunk, std::min(rows, (c + 1) * kRowChunk)); });
}

/// Calls function(0) .. function(count-1): on the threads, or one after the other if each call
/// spreads its rows, or if all calls would be done before threads have started.
template <class Function>
void over_panels(RowWork work, Index count, double flops, const Function& function) {
  constexpr double kWorthThreads = 4e6;
  if (work == RowWork::kSerial && flops >= kWorthThreads) {
    parallel_for(count, function);
  } else {
    for (Index p = 0; p < count; ++p) function(p);
  }
}

}  // namespace matapprox::kernels
