#include "mpi/spread_chain.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/chord_chain.hpp"
#include "matapprox/core/memory.hpp"
#include "mpi/messages.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kLinkValues = 5;
/// Largest number of numbers in one message.
constexpr Index kNumbersInMessage = Index{1} << 30;

Index numbers_of(const auto& moved) {
  Index numbers = 0;
  for (const auto& values : moved) numbers += values.count;
  return numbers;
}

/// Calls function(process, first, count) for the numbers of each process, once per message.
void over_messages(const auto& moved, const auto& function) {
  Index first = 0;
  for (std::size_t at = 0; at < moved.size();) {
    Index count = 0;
    const int process = moved[at].process;
    for (; at < moved.size() && moved[at].process == process; ++at) count += moved[at].count;
    for (Index from = 0; from < count; from += kNumbersInMessage)
      function(process, first + from, std::min(kNumbersInMessage, count - from));
    first += count;
  }
}

}  // namespace

SpreadChain::SpreadChain(const Process& process, const Layout& rows, ChordPattern pattern)
    : pattern_(std::move(pattern)),
      first_(rows.first(process.rank())),
      last_(first_ + rows.count(process.rank())) {
  const Index n = pattern_.order;
  for (Index m = 0; m < factors(); ++m) {
    const std::vector<Index>& offsets = pattern_.offsets[static_cast<std::size_t>(m)];
    std::vector<Index> turned = offsets;
    for (Index& offset : turned) offset = offset == 0 ? 0 : n - offset;
    sides_[0].push_back({offsets, LinkHalo(rows, process.rank(), offsets)});
    sides_[1].push_back({turned, LinkHalo(rows, process.rank(), turned)});
    moves_.push_back(moves_of(rows, process.rank(), m));
  }
}

SpreadChain::Moves SpreadChain::moves_of(const Layout& rows, int process, Index m) const {
  const std::vector<Index>& offsets = sides_[0][static_cast<std::size_t>(m)].offsets;
  const std::vector<Index>& turned = sides_[1][static_cast<std::size_t>(m)].offsets;
  Moves moves;
  for (Index k = 0; k < links(m); ++k) {
    const auto at = static_cast<std::size_t>(k);
    for (const LinkedRows& part : linked_rows(rows, process, turned[at])) {
      if (part.owner == process) {
        moves.kept.emplace_back(k, part);
      } else {
        moves.received.push_back({part.owner, k, part.row, part.count});
      }
    }
    for (const LinkedRows& part : linked_rows(rows, process, offsets[at])) {
      if (part.owner != process) moves.sent.push_back({part.owner, k, part.row, part.count});
    }
  }
  // Sender and receiver both order the values by link, then by row of the transpose; for the values
  // sent, these are the linked rows.
  const auto by_process = [](const Values& a, const Values& b) { return a.process < b.process; };
  std::ranges::stable_sort(moves.received, by_process);
  std::ranges::stable_sort(moves.sent, by_process);
  return moves;
}

Index SpreadChain::max_links() const {
  Index most = 0;
  for (Index m = 0; m < factors(); ++m) most = std::max(most, links(m));
  return most;
}

Index SpreadChain::first_value(Index m) const {
  return pattern_.first_value(m) / pattern_.order * (last_ - first_);
}

SpreadChain::Factor SpreadChain::factor(Index m, bool transposed, const double* values) const {
  const Side& side = sides_[static_cast<std::size_t>(transposed)][static_cast<std::size_t>(m)];
  // Address where row 0 would be, since rows are counted as in the whole factor; null without rows.
  const double* whole = values == nullptr ? nullptr : values - first_ * links(m);
  return {pattern_.order, links(m), side.offsets.data(), whole, links(m), 1};
}

void SpreadChain::receive_ghosts(
    const Process& process, Index m, bool transposed, Index width, double* panel) const {
  halo(m, transposed).receive_ghosts(process, width, panel);
}

void SpreadChain::bring_twice(const Process& process, Index m, bool transposed, double* x) const {
  const LinkHalo& its_halo = halo(m, transposed);
  its_halo.receive_ghosts(process, 1, x);
  for (const LinkHalo::Interval& rows : its_halo.received())
    std::copy_n(x + rows.first, rows.count, x + pattern_.order + rows.first);
}

SpreadChain::Buffers SpreadChain::buffers() const {
  Index sent = 0;
  Index received = 0;
  for (const Moves& moves : moves_) {
    sent = std::max(sent, numbers_of(moves.sent));
    received = std::max(received, numbers_of(moves.received));
  }
  return {std::vector<double>(static_cast<std::size_t>(sent)),
          std::vector<double>(static_cast<std::size_t>(received))};
}

void SpreadChain::transpose(
    const Process& process, Index m, const double* values, double* result, Buffers& buffers) const {
  const Moves& moves = moves_[static_cast<std::size_t>(m)];
  const Index stride = links(m);
  Messages messages(process, kLinkValues);
  over_messages(moves.received, [&](int from, Index first, Index count) {
    messages.receive(from, buffers.received.data() + first, count, MPI_DOUBLE);
  });
  double* next = buffers.sent.data();
  for (const Values& part : moves.sent) {
    const double* from = values + (part.first - first_) * stride + part.link;
    for (Index i = 0; i < part.count; ++i) *next++ = from[i * stride];
  }
  over_messages(moves.sent, [&](int to, Index first, Index count) {
    messages.send(to, buffers.sent.data() + first, count, MPI_DOUBLE);
  });
  over_rows([&](Index first, Index last) {
    for (const auto& [link, part] : moves.kept) {
      const Index begin = std::max(first, part.row);
      const Index end = std::min(last, part.row + part.count);
      const double* from = values + (part.linked - part.row - first_) * stride + link;
      double* to = result - first_ * stride + link;
      for (Index j = begin; j < end; ++j) to[j * stride] = from[j * stride];
    }
  });
  messages.wait();
  const double* came = buffers.received.data();
  for (const Values& part : moves.received) {
    double* to = result + (part.first - first_) * stride + part.link;
    for (Index j = 0; j < part.count; ++j) to[j * stride] = *came++;
  }
}

void SpreadChain::over_rows(const std::function<void(Index first, Index last)>& function) const {
  kernels::over_rows(kernels::RowWork::kSpread, last_ - first_, [&](Index first, Index last) {
    function(first_ + first, first_ + last);
  });
}

ChordPattern broadcast_pattern(const Process& process, const ChordPattern* pattern) {
  std::array<Index, 2> sizes{};  // order, factors
  if (process.leads()) sizes = {pattern->order, pattern->factors()};
  process.broadcast(sizes.data(), sizeof sizes);
  ChordPattern result{sizes[0],
                      std::vector<std::vector<Index>>(static_cast<std::size_t>(sizes[1]))};
  for (Index m = 0; m < result.factors(); ++m) {
    std::vector<Index>& offsets = result.offsets[static_cast<std::size_t>(m)];
    if (process.leads()) offsets = pattern->offsets[static_cast<std::size_t>(m)];
    process.broadcast(offsets);
  }
  return result;
}

Layout chain_layout(const Layout& rows, const ChordPattern& pattern) {
  std::vector<Index> links;
  for (Index m = 0; m < pattern.factors(); ++m) links.push_back(pattern.links(m));
  return {rows.begins(), std::move(links)};
}

}  // namespace matapprox::mpi
