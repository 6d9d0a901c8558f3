#include "mpi/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/require.hpp"
#include "mpi/block_output.hpp"
#include "mpi/block_workers.hpp"
#include "mpi/chord_rows.hpp"
#include "mpi/dense_rows.hpp"
#include "mpi/file_rows.hpp"
#include "mpi/kernel_rows.hpp"
#include "mpi/scatter.hpp"
#include "mpi/sparse_rows.hpp"

namespace matapprox::mpi {
namespace {

MultiVectorView own(Store& store, const Part& part) {
  return store.blocks.at(part.block).own.columns(part.first, part.cols);
}

Index size_of(const MultiVectorView& X) { return X.rows * X.cols; }

const Layout& layout_of(const Store& store, const Part& part) {
  return store.layouts.at(store.blocks.at(part.block).layout);
}

/// Each process's part of the rows first .. first + count - 1 of a block within one of its
/// stretches, in the form that MPI takes.
struct RowsOfEach {
  std::vector<int> firsts;  ///< counted from `first`
  std::vector<int> counts;
  int own_count = 0;
  Index own_first = 0;  ///< first row among this process's rows

  /// Returns the address of this process's part of a column.
  double* own_of(const MultiVectorView& rows, Index column) const {
    return own_count > 0 ? rows.data + column * rows.rows + own_first : nullptr;
  }
};

/// Sends the leader's text to all processes.
void broadcast_text(const Process& process, std::string& text) {
  Index bytes = std::ssize(text);
  process.broadcast(&bytes, sizeof(bytes));
  process.agree([&] { text.resize(static_cast<std::size_t>(bytes)); });
  process.broadcast(text.data(), bytes);
}

/// Returns one element for each stretch that contains some of the rows. Throws AgreedFailure if a
/// process runs out of memory.
std::vector<RowsOfEach> rows_of_each(const Process& process,
                                     const Layout& layout,
                                     Index first,
                                     Index count) {
  std::vector<RowsOfEach> stretches;
  const auto rank = static_cast<std::size_t>(process.rank());
  const std::vector<Index>& begins = layout.begins();
  process.agree([&] {
    Index all_before = 0;
    Index own_before = 0;
    for (const Index width : layout.widths()) {
      const auto within = [&](Index begin) {
        return std::clamp(all_before + begin * width, first, first + count);
      };
      if (within(begins.back()) > within(0)) {
        RowsOfEach& rows = stretches.emplace_back();
        for (std::size_t p = 0; p + 1 < begins.size(); ++p) {
          rows.firsts.push_back(static_cast<int>(within(begins[p]) - first));
          rows.counts.push_back(static_cast<int>(within(begins[p + 1]) - within(begins[p])));
        }
        rows.own_count = rows.counts[rank];
        rows.own_first = own_before + within(begins[rank]) - (all_before + begins[rank] * width);
      }
      all_before += begins.back() * width;
      own_before += (begins[rank + 1] - begins[rank]) * width;
    }
  });
  return stretches;
}

}  // namespace

void AddLayout::perform(const Process& process, Store& store) const {
  std::vector<Index> rows(static_cast<std::size_t>(process.size()) + 1);
  std::vector<Index> rows_of_one(static_cast<std::size_t>(stretches));
  if (process.leads()) {
    std::copy_n(begins, rows.size(), rows.begin());
    std::copy_n(widths, rows_of_one.size(), rows_of_one.begin());
  }
  process.broadcast(rows.data(), std::ssize(rows) * Index{sizeof(Index)});
  process.broadcast(rows_of_one.data(), stretches * Index{sizeof(Index)});
  store.layouts.emplace(layout, Layout(std::move(rows), std::move(rows_of_one)));
}

void RemoveLayout::perform(const Process& /*process*/, Store& store) const {
  store.layouts.erase(layout);
}

void Allocate::perform(const Process& process, Store& store) const {
  MultiVector rows;
  process.agree([&] {
    rows = MultiVector(host_space(), store.layouts.at(layout).count(process.rank()), cols);
  });
  store.blocks.emplace(block, Store::Block{layout, std::move(rows)});
}

void Release::perform(const Process& /*process*/, Store& store) const { store.blocks.erase(block); }

void Write::perform(const Process& process, Store& store) const {
  const Layout& layout = layout_of(store, to);
  const MultiVectorView rows = own(store, to);
  for (Index c = 0; c < to.cols; ++c) {
    scatter(process,
            layout,
            process.leads() ? host + c * layout.rows() : nullptr,
            rows.data + c * rows.rows);
  }
}

void Read::perform(const Process& process, Store& store) const {
  const Layout& layout = layout_of(store, from);
  const MultiVectorView rows = own(store, from);
  for (Index c = 0; c < from.cols; ++c) {
    gather(process,
           layout,
           rows.data + c * rows.rows,
           process.leads() ? host + c * layout.rows() : nullptr);
  }
}

void ReadRows::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, from);
  for (const RowsOfEach& part : rows_of_each(process, layout_of(store, from), first, count)) {
    for (Index c = 0; c < from.cols; ++c) {
      MPI_Gatherv(part.own_of(rows, c),
                  part.own_count,
                  MPI_DOUBLE,
                  process.leads() ? host + c * count : nullptr,
                  part.counts.data(),
                  part.firsts.data(),
                  MPI_DOUBLE,
                  0,
                  process.comm());
    }
  }
}

void WriteRows::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, to);
  for (const RowsOfEach& part : rows_of_each(process, layout_of(store, to), first, count)) {
    for (Index c = 0; c < to.cols; ++c) {
      MPI_Scatterv(process.leads() ? host + c * count : nullptr,
                   part.counts.data(),
                   part.firsts.data(),
                   MPI_DOUBLE,
                   part.own_of(rows, c),
                   part.own_count,
                   MPI_DOUBLE,
                   0,
                   process.comm());
    }
  }
}

void WriteToFile::perform(const Process& process, Store& store) const {
  FilePlace its_place;
  if (process.leads()) its_place = *place;
  broadcast_text(process, its_place.path);
  broadcast_text(process, its_place.name);
  process.broadcast(&its_place.offset, sizeof(its_place.offset));
  process.broadcast(&its_place.order, sizeof(its_place.order));
  process.broadcast(&its_place.finite, sizeof(its_place.finite));
  const auto written = write_block(process, layout_of(store, from), own(store, from), its_place);
  if (process.leads()) *sum = written;
}

void TakeLocal::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, to);
  const LocalBlock& local = *store.local;
  for (Index c = 0; c < to.cols; ++c)
    std::copy_n(local.from + c * local.from_stride, rows.rows, rows.data + c * rows.rows);
}

void GiveLocal::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, from);
  const LocalBlock& local = *store.local;
  for (Index c = 0; c < from.cols; ++c)
    std::copy_n(rows.data + c * rows.rows, rows.rows, local.to + c * local.to_stride);
}

void Copy::perform(const Process& /*process*/, Store& store) const {
  copy(own(store, from), own(store, to));
}

void Zero::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, X);
  host_space()->zero(rows.data, size_of(rows));
}

void FillNormal::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, X);
  const Layout& layout = layout_of(store, X);
  const Index first = layout.begins()[static_cast<std::size_t>(process.rank())];
  const Index count = layout.begins()[static_cast<std::size_t>(process.rank()) + 1] - first;
  Index all_before = 0;
  Index own_before = 0;
  for (const Index width : layout.widths()) {
    fill_normal(seed,
                stream,
                on_host(rows).middleRows(own_before, count * width),
                all_before + first * width,
                first_column);
    all_before += layout.begins().back() * width;
    own_before += count * width;
  }
}

void TransposeProduct::perform(const Process& process, Store& store) const {
  Matrix sum;
  // The product packs its operands, which may run out of memory.
  process.agree([&] { sum = transpose_product(own(store, A), own(store, B)); });
  process.sum_to_leader(sum.data(), sum.size());
  if (process.leads()) std::copy_n(sum.data(), sum.size(), result);
}

void AddProduct::perform(const Process& process, Store& store) const {
  Matrix factor;
  process.agree([&] { factor.resize(A.cols, Y.cols); });
  if (process.leads()) std::copy_n(S, factor.size(), factor.data());
  process.broadcast(factor.data(), factor.size() * Index{sizeof(double)});
  process.agree([&] { add_product(alpha, own(store, A), factor, beta, own(store, Y)); });
}

// For one process, the square root of the square is the norm itself.
void ColumnNorms::perform(const Process& process, Store& store) const {
  Vector squares = column_norms(own(store, A)).cwiseAbs2();
  process.sum_to_leader(squares.data(), squares.size());
  if (process.leads()) Eigen::Map<Vector>(norms, squares.size()) = squares.cwiseSqrt();
}

void Largest::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, X);
  double largest = host_space()->largest(rows.data, size_of(rows));
  // MPI's maximum may lose a NaN.
  if (std::isnan(largest)) largest = std::numeric_limits<double>::infinity();
  double all = 0;
  MPI_Reduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, 0, process.comm());
  if (process.leads()) *result = all;
}

void Scale::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, X);
  host_space()->scale(rows.data, size_of(rows), factor);
}

void ScaleRows::perform(const Process& process, Store& store) const {
  const MultiVectorView rows = own(store, X);
  for (const RowsOfEach& part : rows_of_each(process, layout_of(store, X), first, count)) {
    for (Index c = 0; c < X.cols; ++c)
      host_space()->scale(part.own_of(rows, c), part.own_count, factor);
  }
}

void AdamStep::perform(const Process& /*process*/, Store& store) const {
  const MultiVectorView rows = own(store, x);
  host_space()->adam(step,
                     own(store, gradient).data,
                     size_of(rows),
                     own(store, mean).data,
                     own(store, square).data,
                     rows.data);
}

void AddSparse::perform(const Process& process, Store& store) const {
  const Layout& row_layout = store.layouts.at(rows);
  const Layout& column_layout = store.layouts.at(cols);
  auto by_rows =
      std::make_unique<OwnRows>(process, column_layout, deal_rows(process, row_layout, values));
  std::unique_ptr<OwnRows> by_columns;
  if (!symmetric) {
    by_columns = std::make_unique<OwnRows>(
        process, row_layout, deal_rows(process, column_layout, transposed));
  }
  store.matrices.emplace(matrix,
                         std::make_unique<SparseRows>(std::move(by_rows), std::move(by_columns)));
}

void RemoveMatrix::perform(const Process& /*process*/, Store& store) const {
  store.matrices.erase(matrix);
}

void Multiply::perform(const Process& process, Store& store) const {
  store.matrices.at(matrix)->multiply(process, transposed, own(store, X), own(store, Y));
}

void AddChord::perform(const Process& process, Store& store) const {
  ChordPattern its_pattern = broadcast_pattern(process, pattern);
  std::unique_ptr<const SpreadMatrix> made;
  process.agree([&] {
    SpreadChain chain(process, store.layouts.at(rows), std::move(its_pattern));
    made = std::make_unique<ChordRows>(
        std::move(chain), own(store, values).data, transposed, symmetrized);
  });
  store.matrices.emplace(matrix, std::move(made));
}

void AddChordFit::perform(const Process& process, Store& store) const {
  const Layout& layout = store.layouts.at(rows);
  ChordPattern its_pattern = broadcast_pattern(process, pattern);
  SparseMatrix own_rows;
  if (entries) own_rows = deal_rows(process, layout, target);
  std::unique_ptr<ChordFitRows> made;
  process.agree([&] {
    made = std::make_unique<ChordFitRows>(
        process,
        layout,
        std::move(its_pattern),
        ChordFitRows::Options{.symmetrized = symmetrized, .max_columns = max_columns});
    if (entries) made->set_target(own_rows, unit);
  });
  store.fits.emplace(fit, std::move(made));
}

void RemoveChordFit::perform(const Process& /*process*/, Store& store) const {
  store.fits.erase(fit);
}

void EvaluateChordPanel::perform(const Process& process, Store& store) const {
  std::vector<Index> list(static_cast<std::size_t>(columns));
  if (process.leads()) std::copy_n(J, list.size(), list.begin());
  process.broadcast(list.data(), columns * Index{sizeof(Index)});
  const bool with_gradient = gradient.cols > 0;
  const double f = store.fits.at(fit)->evaluate_panel(
      process,
      {.panel = panel, .panels = panels, .columns = list, .target = target},
      own(store, values).data,
      with_gradient ? own(store, gradient).data : nullptr);
  if (process.leads()) *result = f;
}

void AddKernel::perform(const Process& process, Store& store) const {
  const Layout& rows = store.layouts.at(layout);
  Matrix own_points;
  process.agree([&] { own_points.resize(rows.count(process.rank()), dimension); });
  for (Index c = 0; c < dimension; ++c)
    scatter(process, rows, points + c * rows.rows(), own_points.col(c).data());
  store.matrices.emplace(matrix, std::make_unique<KernelRows>(kernel, rows, std::move(own_points)));
}

void AddDense::perform(const Process& process, Store& store) const {
  const Layout& columns = store.layouts.at(cols);
  LocalRows own_rows = deal_dense(process, store.layouts.at(rows), columns.rows(), values);
  std::unique_ptr<const SpreadMatrix> made;
  if (is_covariance) {
    made = std::make_unique<CovarianceRows>(columns, std::move(own_rows));
  } else {
    made = std::make_unique<DenseRows>(columns, std::move(own_rows));
  }
  store.matrices.emplace(matrix, std::move(made));
}

void AddFile::perform(const Process& process, Store& store) const {
  std::string wanted;
  if (process.leads()) wanted = *name;
  broadcast_text(process, wanted);
  RowsOfFile file{nullptr, store.layouts.at(rows), store.layouts.at(cols), panel_rows};
  process.agree([&] {
    file.matrix = store.open(wanted);
    const Index m = file.rows.rows();
    const Index n = file.columns.rows();
    if (file.matrix->rows() == m && file.matrix->cols() == n) return;
    throw FileError(fmt::format("{}: {} x {} here, {} x {} on the first process",
                                file.matrix->description(),
                                file.matrix->rows(),
                                file.matrix->cols(),
                                m,
                                n));
  });
  std::unique_ptr<const SpreadMatrix> made;
  if (!in_file && fit_into_memory(process, file)) {
    made = std::make_unique<DenseRows>(file.columns, read_rows(process, file));
  } else {
    made = std::make_unique<FileRows>(std::move(file));
  }
  store.matrices.emplace(matrix, std::move(made));
}

void AddBlockWorker::perform(const Process& process, Store& store) const {
  MessageBytes bytes;
  process.agree([&] { bytes.resize(static_cast<std::size_t>(setup_bytes)); });
  if (process.leads()) std::copy_n(setup, setup_bytes, bytes.begin());
  process.broadcast(bytes.data(), setup_bytes);
  std::unique_ptr<blocks::BlockWorker> made;
  process.agree([&] { made = std::make_unique<blocks::BlockWorker>(bytes); });
  store.block_workers.emplace(worker, std::move(made));
}

void RemoveBlockWorker::perform(const Process& /*process*/, Store& store) const {
  store.block_workers.erase(worker);
}

void AskBlockWorkers::perform(const Process& process, Store& store) const {
  const MessageBytes request = deal_messages(process, requests);
  MessageBytes own;
  process.agree([&] { own = store.block_workers.at(worker)->answer(request); });
  std::vector<MessageBytes> all = collect_messages(process, own);
  if (process.leads()) *answers = std::move(all);
}

}  // namespace matapprox::mpi
