#include "mpi/file_rows.hpp"

#include <algorithm>
#include <vector>

#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "mpi/row_exchange.hpp"

namespace matapprox::mpi {
namespace {

/// Calls visit(I, first) for panels of this process's rows: their row indices, and the number of
/// its rows before them. All processes advance together, since any may fail.
template <class Visit>
void for_each_panel(const Process& process, const RowsOfFile& file, const Visit& visit) {
  const auto first_panel = [&](int p) { return file.rows.first(p) / file.panel_rows; };
  Index panels = 0;
  for (int p = 0; p < process.size(); ++p) {
    if (file.rows.count(p) == 0) continue;
    const Index last_panel = (file.rows.first(p + 1) - 1) / file.panel_rows;
    panels = std::max(panels, last_panel - first_panel(p) + 1);
  }
  const Index own_first = file.rows.first(process.rank());
  const Index own_end = file.rows.first(process.rank() + 1);
  for (Index k = 0; k < panels; ++k) {
    process.throw_if_stop_requested();
    process.agree([&] {
      const Index begin = (first_panel(process.rank()) + k) * file.panel_rows;
      const Index first = std::max(begin, own_first);
      const Index end = std::min(begin + file.panel_rows, own_end);
      if (first < end) visit(index_range(first, end - first), first - own_first);
    });
  }
}

}  // namespace

void FileRows::multiply(const Process& process,
                        bool transposed,
                        const ConstMultiVectorView& X,
                        const MultiVectorView& Y) const {
  using kernels::Trans;
  Matrix whole;  // all of X, or this process's part of A^T X
  process.agree([&] { whole.setZero(file_.columns.rows(), X.cols); });
  if (!transposed) {
    gather_rows(process, file_.columns, X, 0, whole);
    for_each_panel(process, file_, [&](const std::vector<Index>& I, Index first) {
      const Matrix rows = file_.matrix->rows_at(I);
      kernels::gemm(
          Trans::kYes, rows, Trans::kNo, whole, on_host(Y).middleRows(first, rows.cols()));
    });
    return;
  }
  for_each_panel(process, file_, [&](const std::vector<Index>& I, Index first) {
    const Matrix rows = file_.matrix->rows_at(I);
    kernels::gemm(
        Trans::kNo, rows, Trans::kNo, on_host(X).middleRows(first, rows.cols()), whole, 1.0, 1.0);
  });
  const auto make = [&](Index first, Matrix& panel) {
    panel = whole.middleRows(first, panel.rows());
  };
  sum_rows(process, file_.columns, make, Y);
}

LocalRows read_rows(const Process& process, const RowsOfFile& file) {
  Matrix transposed;
  process.agree([&] { transposed.resize(file.columns.rows(), file.rows.count(process.rank())); });
  for_each_panel(process, file, [&](const std::vector<Index>& I, Index first) {
    file.matrix->rows_at(I, transposed.middleCols(first, std::ssize(I)));
  });
  return {std::move(transposed), true};
}

bool fit_into_memory(const Process& process, const RowsOfFile& file) {
  const double bytes = static_cast<double>(sizeof(double)) *
                       static_cast<double>(file.rows.count(process.rank())) *
                       static_cast<double>(file.columns.rows());
  const Index share = available_memory_bytes() / processes_of_machine(process.comm());
  int fits = share == 0 || bytes <= static_cast<double>(share) / 2 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &fits, 1, MPI_INT, MPI_MIN, process.comm());
  return fits != 0;
}

}  // namespace matapprox::mpi
