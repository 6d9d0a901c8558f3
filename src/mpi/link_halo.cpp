#include "mpi/link_halo.hpp"

#include <algorithm>
#include <set>

#include "mpi/messages.hpp"

namespace matapprox::mpi {
namespace {

constexpr int kPanelRows = 4;

using Interval = LinkHalo::Interval;

/// Returns the rows `process` needs from others, by process and row; adjacent intervals are joined.
std::vector<Interval> needed(const Layout& layout, int process, const std::vector<Index>& offsets) {
  std::vector<Interval> parts;
  for (const Index offset : offsets) {
    for (const LinkedRows& rows : linked_rows(layout, process, offset)) {
      if (rows.owner != process) parts.push_back({rows.owner, rows.linked, rows.count});
    }
  }
  std::ranges::sort(parts, [](const Interval& a, const Interval& b) { return a.first < b.first; });
  std::vector<Interval> joined;
  for (const Interval& part : parts) {
    if (joined.empty() || joined.back().process != part.process ||
        joined.back().first + joined.back().count < part.first) {
      joined.push_back(part);
    } else {
      Interval& last = joined.back();
      last.count = std::max(last.count, part.first + part.count - last.first);
    }
  }
  return joined;
}

Index turned(Index offset, Index n) { return offset == 0 ? 0 : n - offset; }

}  // namespace

std::vector<LinkedRows> linked_rows(const Layout& layout, int process, Index offset) {
  const Index n = layout.rows();
  const Index end = layout.first(process) + layout.count(process);
  std::vector<LinkedRows> parts;
  for (Index i = layout.first(process); i < end;) {
    const Index linked = i + offset < n ? i + offset : i + offset - n;
    const int owner = layout.owner(linked);
    const Index count = std::min(end - i, layout.first(owner) + layout.count(owner) - linked);
    parts.push_back({i, linked, count, owner});
    i += count;
  }
  return parts;
}

LinkHalo::LinkHalo(const Layout& layout, int process, const std::vector<Index>& offsets)
    : received_(needed(layout, process, offsets)) {
  std::set<int> others;  // processes whose rows are linked to rows of this one
  for (const Index offset : offsets) {
    for (const LinkedRows& rows : linked_rows(layout, process, turned(offset, layout.rows())))
      others.insert(rows.owner);
  }
  others.erase(process);
  for (const int other : others) {
    for (const Interval& rows : needed(layout, other, offsets)) {
      if (rows.process == process) sent_.push_back({other, rows.first, rows.count});
    }
  }
}

void LinkHalo::receive_ghosts(const Process& process, Index width, double* panel) const {
  if (received_.empty() && sent_.empty()) return;
  const NumberType row = NumberType::row(width);
  Messages messages(process, kPanelRows);
  for (const Interval& rows : received_)
    messages.receive(rows.process, panel + rows.first * width, rows.count, row.get());
  for (const Interval& rows : sent_)
    messages.send(rows.process, panel + rows.first * width, rows.count, row.get());
  messages.wait();
}

}  // namespace matapprox::mpi
