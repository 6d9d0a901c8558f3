#include "mpi/halo.hpp"

#include <algorithm>
#include <set>

#include "mpi/process.hpp"

namespace matapprox::mpi {
namespace {

/// The rows of one process among first .. last - 1.
struct Piece {
  int process = 0;
  Index begin = 0;
  Index end = 0;
};

template <class Visit>
void for_each_piece(const Layout& layout, Index first, Index last, const Visit& visit) {
  if (first == last) return;
  for (int p = layout.owner(first); layout.first(p) < last; ++p) {
    const Piece piece{p, std::max(first, layout.first(p)), std::min(last, layout.first(p + 1))};
    if (piece.begin < piece.end) visit(piece);
    if (piece.end == last) return;
  }
}

}  // namespace

Index panel_rows(Index columns) {
  constexpr Index kNumbers = Index{1} << 17;
  constexpr Index kMultiple = 256;
  return std::max(kMultiple, kNumbers / std::max<Index>(columns, 1) / kMultiple * kMultiple);
}

void gather_rows(const Process& process,
                 const Layout& layout,
                 const ConstMultiVectorView& X,
                 Index first,
                 Matrix& panel) {
  for_each_piece(layout, first, first + panel.rows(), [&](const Piece& piece) {
    const Index count = piece.end - piece.begin;
    if (piece.process == process.rank()) {
      panel.middleRows(piece.begin - first, count) =
          on_host(X).middleRows(piece.begin - layout.first(piece.process), count);
    }
    const NumberType columns = NumberType::columns(count, panel.cols(), panel.rows());
    MPI_Bcast(
        panel.data() + (piece.begin - first), 1, columns.get(), piece.process, process.comm());
  });
}

void sum_rows(const Process& process,
              const Layout& layout,
              const std::function<void(Index first, Matrix& panel)>& make,
              const MultiVectorView& Y) {
  const Index step = panel_rows(Y.cols);
  Matrix panel;
  for (int p = 0; p < process.size(); ++p) {
    const Index end = layout.first(p + 1);
    for (Index first = layout.first(p); first < end; first += step) {
      process.throw_if_stop_requested();
      process.agree([&] {
        panel.resize(std::min(step, end - first), Y.cols);
        make(first, panel);
      });
      process.sum_to(p, panel.data(), panel.size());
      if (p == process.rank()) on_host(Y).middleRows(first - layout.first(p), panel.rows()) = panel;
    }
  }
}

namespace {

constexpr int kGhostRows = 3;

}  // namespace

Halo::Halo(const Process& process, const Layout& layout, const std::vector<Index>& ghosts)
    : ghosts_(std::ssize(ghosts)) {
  std::vector<int> wanted(static_cast<std::size_t>(process.size()), 0);  // rows from each process
  std::vector<int> asked(wanted.size());                                 // rows for each process
  for (const Index row : ghosts) ++wanted[static_cast<std::size_t>(layout.owner(row))];
  MPI_Alltoall(wanted.data(), 1, MPI_INT, asked.data(), 1, MPI_INT, process.comm());
  process.agree([&] {
    Index first = 0;
    for (int p = 0; p < process.size(); ++p) {
      const auto at = static_cast<std::size_t>(p);
      if (wanted[at] > 0) sources_.push_back({p, first, wanted[at]});
      if (asked[at] > 0)
        targets_.push_back({p, std::vector<Index>(static_cast<std::size_t>(asked[at]))});
      first += wanted[at];
    }
  });
  std::vector<MPI_Request> requests;
  for (Target& target : targets_) {
    MPI_Irecv(target.rows.data(),
              static_cast<int>(target.rows.size()),
              MPI_INT64_T,
              target.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  for (const Source& source : sources_) {
    MPI_Isend(ghosts.data() + source.first,
              static_cast<int>(source.count),
              MPI_INT64_T,
              source.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (Target& target : targets_) {
    for (Index& row : target.rows) row -= layout.first(process.rank());
  }
}

Matrix Halo::with_ghosts(const Process& process, const ConstMultiVectorView& X) const {
  Matrix all;
  std::vector<Matrix> sent(targets_.size());
  std::vector<MPI_Request> requests;
  process.agree([&] {
    all.resize(X.rows + ghosts_, X.cols);
    for (std::size_t t = 0; t < sent.size(); ++t)
      sent[t].resize(std::ssize(targets_[t].rows), X.cols);
    requests.reserve(sources_.size() + targets_.size());
  });
  for (const Source& source : sources_) {
    const NumberType columns = NumberType::columns(source.count, X.cols, all.rows());
    MPI_Irecv(all.data() + X.rows + source.first,
              1,
              columns.get(),
              source.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  const auto own = on_host(X);
  for (std::size_t t = 0; t < sent.size(); ++t) {
    const Target& target = targets_[t];
    sent[t] = own(target.rows, Eigen::all);
    const NumberType columns = NumberType::columns(sent[t].rows(), X.cols, sent[t].rows());
    MPI_Isend(sent[t].data(),
              1,
              columns.get(),
              target.process,
              kGhostRows,
              process.comm(),
              &requests.emplace_back());
  }
  all.topRows(X.rows) = own;
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return all;
}

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
  std::vector<MPI_Request> requests;
  for (const Interval& rows : received_) {
    MPI_Irecv(panel + rows.first * width,
              static_cast<int>(rows.count),
              row.get(),
              rows.process,
              kPanelRows,
              process.comm(),
              &requests.emplace_back());
  }
  for (const Interval& rows : sent_) {
    MPI_Isend(panel + rows.first * width,
              static_cast<int>(rows.count),
              row.get(),
              rows.process,
              kPanelRows,
              process.comm(),
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace matapprox::mpi
