#include "mpi/row_exchange.hpp"

#include <algorithm>
#include <vector>

#include "mpi/messages.hpp"

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

void scatter_rows(
    const Process& process, const Layout& layout, Index width, const double* all, double* own) {
  std::vector<int> firsts;
  std::vector<int> counts;
  for (int p = 0; p < process.size(); ++p) {
    firsts.push_back(static_cast<int>(layout.first(p)));
    counts.push_back(static_cast<int>(layout.count(p)));
  }
  const NumberType row = NumberType::row(width);
  MPI_Scatterv(all,
               counts.data(),
               firsts.data(),
               row.get(),
               own,
               counts[static_cast<std::size_t>(process.rank())],
               row.get(),
               0,
               process.comm());
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

}  // namespace matapprox::mpi
