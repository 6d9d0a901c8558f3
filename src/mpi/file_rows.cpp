#include "mpi/file_rows.hpp"

#include <algorithm>

#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "mpi/row_exchange.hpp"

namespace matapprox::mpi {
namespace {

/// Calls visit(first, transpose of the panel) for panels of this process's rows, counted from its
/// first. All processes go from panel to panel together.
template <class Visit>
void for_each_panel(const Process& process, const RowsOfFile& file, const Visit& visit) {
  Index most = 0;
  for (int p = 0; p < process.size(); ++p) most = std::max(most, file.rows.count(p));
  const Index own = file.rows.count(process.rank());
  for (Index first = 0; first < most; first += file.panel_rows) {
    process.stop_if_asked();
    process.agree([&] {
      const Index count = std::min(file.panel_rows, own - first);
      if (count < 1) return;
      const auto wanted = index_range(file.rows.first(process.rank()) + first, count);
      visit(first, file.matrix->rows_at(wanted));
    });
  }
}

}  // namespace

void FileRows::multiply(const Process& process,
                        bool transposed,
                        const ConstMultiVectorView& X,
                        const MultiVectorView& Y) const {
  using kernels::Trans;
  const Index n = file_.columns.rows();
  Matrix whole;  // X, or this process's part of A^T X
  process.agree([&] {
    if (transposed) {
      whole.setZero(n, X.cols);
    } else {
      whole.resize(n, X.cols);
    }
  });
  if (!transposed) {
    gather_rows(process, file_.columns, X, 0, whole);
    for_each_panel(process, file_, [&](Index first, const Matrix& rows) {
      kernels::gemm(
          Trans::kYes, rows, Trans::kNo, whole, on_host(Y).middleRows(first, rows.cols()));
    });
    return;
  }
  for_each_panel(process, file_, [&](Index first, const Matrix& rows) {
    kernels::gemm(
        Trans::kNo, rows, Trans::kNo, on_host(X).middleRows(first, rows.cols()), whole, 1.0, 1.0);
  });
  sum_rows(process, file_.columns, 0, whole, Y);
}

LocalRows read_rows(const Process& process, const RowsOfFile& file) {
  Matrix transposed;
  process.agree([&] { transposed.resize(file.columns.rows(), file.rows.count(process.rank())); });
  for_each_panel(process, file, [&](Index first, const Matrix& rows) {
    transposed.middleCols(first, rows.cols()) = rows;
  });
  return {std::move(transposed), true};
}

bool fit_into_memory(const Process& process, const RowsOfFile& file) {
  const Index bytes = file.rows.count(process.rank()) * file.columns.rows() * Index{sizeof(double)};
  const Index share = available_memory_bytes() / processes_of_machine(process.comm());
  int fit = share == 0 || bytes <= share / 2 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &fit, 1, MPI_INT, MPI_MIN, process.comm());
  return fit != 0;
}

}  // namespace matapprox::mpi
