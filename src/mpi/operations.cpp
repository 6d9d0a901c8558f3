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
#include "mpi/row_exchange.hpp"
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

void carry_out(const Process& /*process*/, Store& /*store*/, const End& /*op*/) {}

void carry_out(const Process& process, Store& store, const AddLayout& op) {
  std::vector<Index> begins;
  std::vector<Index> widths;
  if (process.leads()) {
    begins = op.layout->begins();
    widths = op.layout->widths();
  }
  process.broadcast(begins);
  process.broadcast(widths);
  store.layouts.emplace(op.number, Layout(std::move(begins), std::move(widths)));
}

void carry_out(const Process& /*process*/, Store& store, const Remove& op) {
  store.layouts.erase(op.number);
  store.blocks.erase(op.number);
  store.matrices.erase(op.number);
  store.fits.erase(op.number);
  store.block_workers.erase(op.number);
}

void carry_out(const Process& process, Store& store, const Allocate& op) {
  MultiVector rows;
  process.agree([&] {
    rows = MultiVector(host_space(), store.layouts.at(op.layout).count(process.rank()), op.cols);
  });
  store.blocks.emplace(op.block, Store::Block{op.layout, std::move(rows)});
}

void carry_out(const Process& process, Store& store, const ReadRows& op) {
  const MultiVectorView rows = own(store, op.from);
  for (const RowsOfEach& part :
       rows_of_each(process, layout_of(store, op.from), op.first, op.count)) {
    for (Index c = 0; c < op.from.cols; ++c) {
      MPI_Gatherv(part.own_of(rows, c),
                  part.own_count,
                  MPI_DOUBLE,
                  process.leads() ? op.host + c * op.apart : nullptr,
                  part.counts.data(),
                  part.firsts.data(),
                  MPI_DOUBLE,
                  0,
                  process.comm());
    }
  }
}

void carry_out(const Process& process, Store& store, const WriteRows& op) {
  const MultiVectorView rows = own(store, op.to);
  for (const RowsOfEach& part :
       rows_of_each(process, layout_of(store, op.to), op.first, op.count)) {
    for (Index c = 0; c < op.to.cols; ++c) {
      MPI_Scatterv(process.leads() ? op.host + c * op.apart : nullptr,
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

void carry_out(const Process& process, Store& store, const WriteToFile& op) {
  FilePlace its_place;
  if (process.leads()) its_place = *op.place;
  process.broadcast(its_place.path);
  process.broadcast(its_place.name);
  process.broadcast(&its_place.offset, sizeof(its_place.offset));
  process.broadcast(&its_place.order, sizeof(its_place.order));
  process.broadcast(&its_place.finite, sizeof(its_place.finite));
  const auto written =
      write_block(process, layout_of(store, op.from), own(store, op.from), its_place);
  if (process.leads()) *op.sum = written;
}

void carry_out(const Process& /*process*/, Store& store, const TakeLocal& op) {
  const MultiVectorView rows = own(store, op.to);
  const LocalBlock& local = *store.local;
  for (Index c = 0; c < op.to.cols; ++c)
    std::copy_n(local.from + c * local.from_stride, rows.rows, rows.data + c * rows.rows);
}

void carry_out(const Process& /*process*/, Store& store, const GiveLocal& op) {
  const MultiVectorView rows = own(store, op.from);
  const LocalBlock& local = *store.local;
  for (Index c = 0; c < op.from.cols; ++c)
    std::copy_n(rows.data + c * rows.rows, rows.rows, local.to + c * local.to_stride);
}

void carry_out(const Process& /*process*/, Store& store, const Copy& op) {
  copy(own(store, op.from), own(store, op.to));
}

void carry_out(const Process& /*process*/, Store& store, const Zero& op) {
  const MultiVectorView rows = own(store, op.X);
  host_space()->zero(rows.data, size_of(rows));
}

void carry_out(const Process& process, Store& store, const FillNormal& op) {
  const MultiVectorView rows = own(store, op.X);
  const Layout& layout = layout_of(store, op.X);
  const Index first = layout.begins()[static_cast<std::size_t>(process.rank())];
  const Index count = layout.begins()[static_cast<std::size_t>(process.rank()) + 1] - first;
  Index all_before = 0;
  Index own_before = 0;
  for (const Index width : layout.widths()) {
    fill_normal(op.seed,
                op.stream,
                on_host(rows).middleRows(own_before, count * width),
                all_before + first * width,
                op.first_column);
    all_before += layout.begins().back() * width;
    own_before += count * width;
  }
}

void carry_out(const Process& process, Store& store, const TransposeProduct& op) {
  Matrix sum;
  // The product packs its operands, which may run out of memory.
  process.agree([&] { sum = transpose_product(own(store, op.A), own(store, op.B)); });
  process.sum_to_leader(sum.data(), sum.size());
  if (process.leads()) std::copy_n(sum.data(), sum.size(), op.result);
}

void carry_out(const Process& process, Store& store, const AddProduct& op) {
  Matrix factor;
  process.agree([&] { factor.resize(op.A.cols, op.Y.cols); });
  if (process.leads()) std::copy_n(op.S, factor.size(), factor.data());
  process.broadcast(factor.data(), factor.size() * Index{sizeof(double)});
  process.agree(
      [&] { add_product(op.alpha, own(store, op.A), factor, op.beta, own(store, op.Y)); });
}

// For one process, the square root of the square is the norm itself.
void carry_out(const Process& process, Store& store, const ColumnNorms& op) {
  Vector squares = column_norms(own(store, op.A)).cwiseAbs2();
  process.sum_to_leader(squares.data(), squares.size());
  if (process.leads()) Eigen::Map<Vector>(op.norms, squares.size()) = squares.cwiseSqrt();
}

void carry_out(const Process& process, Store& store, const Largest& op) {
  const MultiVectorView rows = own(store, op.X);
  double largest = host_space()->largest(rows.data, size_of(rows));
  // MPI's maximum may lose a NaN.
  if (std::isnan(largest)) largest = std::numeric_limits<double>::infinity();
  double all = 0;
  MPI_Reduce(&largest, &all, 1, MPI_DOUBLE, MPI_MAX, 0, process.comm());
  if (process.leads()) *op.result = all;
}

void carry_out(const Process& /*process*/, Store& store, const Scale& op) {
  const MultiVectorView rows = own(store, op.X);
  host_space()->scale(rows.data, size_of(rows), op.factor);
}

void carry_out(const Process& process, Store& store, const ScaleRows& op) {
  const MultiVectorView rows = own(store, op.X);
  for (const RowsOfEach& part : rows_of_each(process, layout_of(store, op.X), op.first, op.count)) {
    for (Index c = 0; c < op.X.cols; ++c)
      host_space()->scale(part.own_of(rows, c), part.own_count, op.factor);
  }
}

void carry_out(const Process& /*process*/, Store& store, const AdamStep& op) {
  const MultiVectorView rows = own(store, op.x);
  kernels::adam_step(op.step,
                     own(store, op.gradient).data,
                     size_of(rows),
                     own(store, op.mean).data,
                     own(store, op.square).data,
                     rows.data);
}

void carry_out(const Process& process, Store& store, const AddSparse& op) {
  const Layout& row_layout = store.layouts.at(op.rows);
  const Layout& column_layout = store.layouts.at(op.cols);
  auto by_rows =
      std::make_unique<OwnRows>(process, column_layout, deal_rows(process, row_layout, op.values));
  std::unique_ptr<OwnRows> by_columns;
  if (!op.symmetric) {
    by_columns = std::make_unique<OwnRows>(
        process, row_layout, deal_rows(process, column_layout, op.transposed));
  }
  store.matrices.emplace(op.matrix,
                         std::make_unique<SparseRows>(std::move(by_rows), std::move(by_columns)));
}

void carry_out(const Process& process, Store& store, const Multiply& op) {
  store.matrices.at(op.matrix)->multiply(
      process, op.transposed, own(store, op.X), own(store, op.Y));
}

void carry_out(const Process& process, Store& store, const AddChord& op) {
  ChordPattern its_pattern = broadcast_pattern(process, op.pattern);
  std::unique_ptr<const SpreadMatrix> made;
  process.agree([&] {
    SpreadChain chain(process, store.layouts.at(op.rows), std::move(its_pattern));
    made = std::make_unique<ChordRows>(
        std::move(chain), own(store, op.values).data, op.transposed, op.symmetrized);
  });
  store.matrices.emplace(op.matrix, std::move(made));
}

void carry_out(const Process& process, Store& store, const AddChordFit& op) {
  const Layout& layout = store.layouts.at(op.rows);
  ChordPattern its_pattern = broadcast_pattern(process, op.pattern);
  SparseMatrix own_rows;
  if (op.entries) own_rows = deal_rows(process, layout, op.target);
  std::unique_ptr<ChordFitRows> made;
  process.agree([&] {
    made = std::make_unique<ChordFitRows>(
        process,
        layout,
        std::move(its_pattern),
        ChordFitRows::Options{.symmetrized = op.symmetrized, .max_columns = op.max_columns});
    if (op.entries) made->set_target(own_rows, op.unit);
  });
  store.fits.emplace(op.fit, std::move(made));
}

void carry_out(const Process& process, Store& store, const EvaluateChordPanel& op) {
  std::vector<Index> list(static_cast<std::size_t>(op.columns));
  if (process.leads()) std::copy_n(op.J, list.size(), list.begin());
  process.broadcast(list.data(), op.columns * Index{sizeof(Index)});
  const bool with_gradient = op.gradient.cols > 0;
  const double f = store.fits.at(op.fit)->evaluate_panel(
      process,
      {.panel = op.panel, .panels = op.panels, .columns = list, .target = op.target},
      own(store, op.values).data,
      with_gradient ? own(store, op.gradient).data : nullptr);
  if (process.leads()) *op.result = f;
}

void carry_out(const Process& process, Store& store, const AddKernel& op) {
  const Layout& rows = store.layouts.at(op.layout);
  Matrix own_points;
  process.agree([&] { own_points.resize(rows.count(process.rank()), op.dimension); });
  for (Index c = 0; c < op.dimension; ++c)
    scatter_rows(process, rows, 1, op.points + c * rows.rows(), own_points.col(c).data());
  store.matrices.emplace(op.matrix,
                         std::make_unique<KernelRows>(op.kernel, rows, std::move(own_points)));
}

void carry_out(const Process& process, Store& store, const AddDense& op) {
  const Layout& columns = store.layouts.at(op.cols);
  LocalRows own_rows = deal_dense(process, store.layouts.at(op.rows), columns.rows(), op.values);
  std::unique_ptr<const SpreadMatrix> made;
  if (op.is_covariance) {
    made = std::make_unique<CovarianceRows>(columns, std::move(own_rows));
  } else {
    made = std::make_unique<DenseRows>(columns, std::move(own_rows));
  }
  store.matrices.emplace(op.matrix, std::move(made));
}

void carry_out(const Process& process, Store& store, const AddFile& op) {
  std::string wanted;
  if (process.leads()) wanted = *op.name;
  process.broadcast(wanted);
  RowsOfFile file{nullptr, store.layouts.at(op.rows), store.layouts.at(op.cols), op.panel_rows};
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
  if (!op.in_file && fit_into_memory(process, file)) {
    made = std::make_unique<DenseRows>(file.columns, read_rows(process, file));
  } else {
    made = std::make_unique<FileRows>(std::move(file));
  }
  store.matrices.emplace(op.matrix, std::move(made));
}

void carry_out(const Process& process, Store& store, const AddBlockWorker& op) {
  MessageBytes bytes;
  process.agree([&] {
    if (process.leads()) bytes = *op.setup;
  });
  process.broadcast(bytes);
  std::unique_ptr<blocks::BlockWorker> made;
  process.agree([&] { made = std::make_unique<blocks::BlockWorker>(bytes); });
  store.block_workers.emplace(op.worker, std::move(made));
}

void carry_out(const Process& process, Store& store, const AskBlockWorkers& op) {
  const MessageBytes request = deal_messages(process, op.requests);
  MessageBytes own;
  process.agree([&] { own = store.block_workers.at(op.worker)->answer(request); });
  std::vector<MessageBytes> all = collect_messages(process, own);
  if (process.leads()) *op.answers = std::move(all);
}

}  // namespace

void perform(const Process& process, Store& store, const Operation& operation) {
  try {
    std::visit([&](const auto& op) { carry_out(process, store, op); }, operation);
  } catch (const AgreedFailure&) {
    throw;
  } catch (const std::exception& error) {
    process.abort(error.what());
  } catch (...) {
    process.abort("an unknown error");
  }
}

}  // namespace matapprox::mpi
