#pragma once

#include <algorithm>
#include <vector>

#include "kernels/chord_simd.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/chord_pattern.hpp"

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

constexpr Index round_up(Index value, Index multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// How the work on one panel is done: by the calling thread, or with its rows spread over the
/// threads. Both give the same bits.
enum class RowWork { kSerial, kSpread };

// Rows of one task where a single factor is spread over the threads.
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

/// Calls function(0) .. function(count-1): on the threads, or one after the other where each
/// spreads its rows or where all together are done before threads would have started.
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
