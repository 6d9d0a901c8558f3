#include "mpi/rows.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "kernels/sparse.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "mpi/halo.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

LocalRows::LocalRows(Matrix values, bool by_rows)
    : owned_(std::move(values)),
      data_(owned_.data()),
      rows_(by_rows ? owned_.cols() : owned_.rows()),
      stride_(owned_.rows()),
      by_rows_(by_rows) {}

ConstBlock LocalRows::columns(Index first, Index count) const {
  using Stored = Eigen::Map<const Matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
  if (by_rows_) return Stored(data_ + first, count, rows_, Eigen::OuterStride<>(stride_));
  return Stored(data_ + first * stride_, rows_, count, Eigen::OuterStride<>(stride_));
}

// Y is an output: a Ref passed by value, as in every function that fills a block.
// NOLINTBEGIN(performance-unnecessary-value-param)

void LocalRows::add_product(Index first, const ConstBlock& X, Block Y) const {
  using kernels::Trans;
  kernels::gemm(by_rows_ ? Trans::kYes : Trans::kNo,
                columns(first, X.rows()),
                Trans::kNo,
                X,
                Y,
                1.0,
                first == 0 ? 0.0 : 1.0);
}

void LocalRows::transpose_product(Index first, const ConstBlock& X, Block Y) const {
  using kernels::Trans;
  kernels::gemm(by_rows_ ? Trans::kNo : Trans::kYes, columns(first, Y.rows()), Trans::kNo, X, Y);
}

// NOLINTEND(performance-unnecessary-value-param)

void DenseRows::multiply(const Process& process,
                         bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const {
  if (process.size() > 1) {
    if (transposed) {
      const auto make = [&](Index first, Matrix& panel) {
        own_.transpose_product(first, on_host(X), panel);
      };
      sum_rows(process, columns_, make, Y);
    } else {
      add_panels(process, X, Y);
    }
  } else if (transposed) {
    own_.transpose_product(0, on_host(X), on_host(Y));
  } else {
    own_.add_product(0, on_host(X), on_host(Y));
  }
}

void DenseRows::add_panels(const Process& process,
                           const ConstMultiVectorView& X,
                           const MultiVectorView& Y) const {
  const Index n = columns_.rows();
  const Index step = panel_rows(X.cols);
  Matrix panel;
  for (Index first = 0; first < n; first += step) {
    process.throw_if_stop_requested();
    process.agree([&] { panel.resize(std::min(step, n - first), X.cols); });
    gather_rows(process, columns_, X, first, panel);
    if (own_.rows() > 0) own_.add_product(first, panel, on_host(Y));
  }
}

void CovarianceRows::multiply(const Process& process,
                              bool /*transposed*/,
                              const ConstMultiVectorView& X,
                              const MultiVectorView& Y) const {
  MultiVector product;
  process.agree([&] { product = MultiVector(host_space(), samples_.own_rows(), X.cols); });
  samples_.multiply(process, false, X, product.columns());
  samples_.multiply(process, true, product.columns(), Y);
}

LocalRows deal_dense(const Process& process,
                     const Layout& rows,
                     Index columns,
                     const double* values) {
  constexpr int kTag = 7;
  constexpr Index kNumbersOfAMessage = Index{1} << 24;
  Matrix own;
  process.agree([&] {
    if (!process.leads()) own.resize(rows.count(process.rank()), columns);
  });
  for (int p = 1; p < process.size(); ++p) {
    const Index count = rows.count(p);
    if (count == 0 || (!process.leads() && p != process.rank())) continue;
    const Index step = std::max<Index>(1, kNumbersOfAMessage / count);
    for (Index first = 0; first < columns; first += step) {
      const Index width = std::min(step, columns - first);
      if (process.leads()) {
        const NumberType sent = NumberType::columns(count, width, rows.rows());
        const double* begin = values + rows.first(p) + first * rows.rows();
        MPI_Send(begin, 1, sent.get(), p, kTag, process.comm());
      } else {
        const NumberType received = NumberType::columns(count, width, count);
        double* begin = own.data() + first * count;
        MPI_Recv(begin, 1, received.get(), 0, kTag, process.comm(), MPI_STATUS_IGNORE);
      }
    }
  }
  if (process.leads()) return {values, rows.count(0), rows.rows()};
  return {std::move(own), false};
}

namespace {

/// Returns the columns of `rows` outside of first .. first + count - 1, ascending and unique.
std::vector<Index> columns_elsewhere(const SparseMatrix& rows, Index first, Index count) {
  std::vector<Index> ghosts;
  const Index* columns = rows.innerIndexPtr();
  std::copy_if(columns, columns + rows.nonZeros(), std::back_inserter(ghosts), [&](Index column) {
    return column < first || column >= first + count;
  });
  std::ranges::sort(ghosts);
  ghosts.erase(std::ranges::unique(ghosts).begin(), ghosts.end());
  return ghosts;
}

/// Returns the same entries in the same order. Columns are counted from `first`; the ghosts follow
/// the `count` own ones.
SparseMatrix renumbered(SparseMatrix rows,
                        Index first,
                        Index count,
                        const std::vector<Index>& ghosts) {
  Index* columns = rows.innerIndexPtr();
  std::for_each(columns, columns + rows.nonZeros(), [&](Index& column) {
    const bool is_own = column >= first && column < first + count;
    column = is_own ? column - first
                    : count + (std::ranges::lower_bound(ghosts, column) - ghosts.begin());
  });
  return Eigen::Map<const SparseMatrix>(rows.rows(),
                                        count + std::ssize(ghosts),
                                        rows.nonZeros(),
                                        rows.outerIndexPtr(),
                                        columns,
                                        rows.valuePtr());
}

constexpr int kDealtRows = 2;
/// Largest number of numbers in one message.
constexpr Index kMaxNumbers = Index{1} << 27;

template <class T>
void send(const Process& process, int to, const T* numbers, Index count) {
  for (Index at = 0; at < count; at += kMaxNumbers) {
    const Index bytes = std::min(kMaxNumbers, count - at) * Index{sizeof(T)};
    MPI_Send(
        numbers + at, static_cast<int>(bytes / 8), MPI_INT64_T, to, kDealtRows, process.comm());
  }
}

template <class T>
void receive(const Process& process, T* numbers, Index count) {
  for (Index at = 0; at < count; at += kMaxNumbers) {
    const Index bytes = std::min(kMaxNumbers, count - at) * Index{sizeof(T)};
    MPI_Recv(numbers + at,
             static_cast<int>(bytes / 8),
             MPI_INT64_T,
             0,
             kDealtRows,
             process.comm(),
             MPI_STATUS_IGNORE);
  }
}

}  // namespace

OwnRows::OwnRows(const Process& process, const Layout& columns, SparseMatrix rows) {
  const Index first = columns.first(process.rank());
  const Index count = columns.count(process.rank());
  std::vector<Index> ghosts;
  process.agree([&] {
    ghosts = columns_elsewhere(rows, first, count);
    rows_ = renumbered(std::move(rows), first, count, ghosts);
  });
  halo_ = std::make_unique<const Halo>(process, columns, ghosts);
}

void OwnRows::multiply(const Process& process,
                       const ConstMultiVectorView& X,
                       const MultiVectorView& Y) const {
  const Matrix all = halo_->with_ghosts(process, X);
  // The product makes a row-major copy of some columns and may run out of memory.
  process.agree([&] { kernels::sparse_apply(rows_, all, on_host(Y)); });
}

void SparseRows::multiply(const Process& process,
                          bool transposed,
                          const ConstMultiVectorView& X,
                          const MultiVectorView& Y) const {
  const OwnRows& side = transposed && transposed_ ? *transposed_ : *matrix_;
  side.multiply(process, X, Y);
}

SparseMatrix deal_rows(const Process& process, const Layout& layout, const SparseMatrix* all) {
  std::array<Index, 2> shape{};  // columns, entries
  SparseMatrix own;
  const auto entries_of = [&](int p) {
    const Index* begins = all->outerIndexPtr();
    return begins[layout.first(p + 1)] - begins[layout.first(p)];
  };
  if (process.leads()) {
    for (int p = 1; p < process.size(); ++p) {
      const std::array<Index, 2> theirs{all->cols(), entries_of(p)};
      send(process, p, theirs.data(), 2);
    }
    shape = {all->cols(), entries_of(0)};
  } else {
    receive(process, shape.data(), 2);
  }
  process.agree([&] {
    own.resize(layout.count(process.rank()), shape[0]);
    own.resizeNonZeros(shape[1]);
  });
  const Index rows = own.rows();
  if (process.leads()) {
    for (int p = process.size() - 1; p > 0; --p) {
      const Index* begins = all->outerIndexPtr() + layout.first(p);
      send(process, p, begins, layout.count(p) + 1);
      send(process, p, all->innerIndexPtr() + *begins, entries_of(p));
      send(process, p, all->valuePtr() + *begins, entries_of(p));
    }
    std::copy_n(all->outerIndexPtr(), rows + 1, own.outerIndexPtr());
    std::copy_n(all->innerIndexPtr(), shape[1], own.innerIndexPtr());
    std::copy_n(all->valuePtr(), shape[1], own.valuePtr());
  } else {
    Index* begins = own.outerIndexPtr();
    receive(process, begins, rows + 1);
    receive(process, own.innerIndexPtr(), shape[1]);
    receive(process, own.valuePtr(), shape[1]);
    std::transform(
        begins, begins + rows + 1, begins, [first = *begins](Index at) { return at - first; });
  }
  return own;
}

Layout layout_by_entries(const SparseMatrix& A, int processes) {
  std::vector<Index> weights(static_cast<std::size_t>(A.rows()));
  for (Index i = 0; i < A.rows(); ++i)
    weights[static_cast<std::size_t>(i)] = A.outerIndexPtr()[i + 1] - A.outerIndexPtr()[i] + 2;
  return weighted_layout(weights, processes);
}

Layout columns_by_entries(const SparseMatrix& A, int processes) {
  std::vector<Index> weights(static_cast<std::size_t>(A.cols()), 2);
  for (Index k = 0; k < A.nonZeros(); ++k)
    ++weights[static_cast<std::size_t>(A.innerIndexPtr()[k])];
  return weighted_layout(weights, processes);
}

void KernelRows::multiply(const Process& process,
                          bool /*transposed*/,
                          const ConstMultiVectorView& X,
                          const MultiVectorView& Y) const {
  const Index n = layout_.rows();
  const Index own_first = layout_.first(process.rank());
  const Index step = panel_rows(X.cols + points_.cols());
  const ConstMultiVectorView own{
      host_space().get(), points_.rows(), points_.cols(), points_.data()};
  for (Index first = 0; first < n; first += step) {
    process.throw_if_stop_requested();
    const Index count = std::min(step, n - first);
    Matrix x;
    Matrix points;
    Matrix columns;
    process.agree([&] {
      x.resize(count, X.cols);
      points.resize(count, points_.cols());
      columns.resize(points_.cols(), count);
    });
    gather_rows(process, layout_, X, first, x);
    gather_rows(process, layout_, own, first, points);
    if (Y.rows == 0) continue;
    columns = points.transpose();
    add_kernel_product(kernel_, {points_, own_first}, {columns, first}, x, on_host(Y));
  }
}

Layout layout_by_tiles(Index points, Index dimension, int processes) {
  const Index height = kernel_tile_rows(dimension);
  std::vector<Index> begins = even_layout((points + height - 1) / height, processes).begins();
  for (Index& begin : begins) begin = std::min(points, begin * height);
  return Layout(std::move(begins));
}

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
