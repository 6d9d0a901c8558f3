#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "io/hdf5_stored.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/io/hdf5_file.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {

namespace {

/// Rows [row, row + rows) and columns [col, col + cols) of the dataset.
struct Panel {
  Index row = 0;
  Index rows = 0;
  Index col = 0;
  Index cols = 0;
};

/// A run of indices that are read together: first .. last.
struct Run {
  Index first = 0;
  Index last = 0;
};

/// Joins requested indices in the same or in neighboring units (chunks) into runs. Reading the
/// indices between them costs nothing, since the file is read in whole units.
std::vector<Run> runs_of(std::span<const Index> wanted, Index unit) {
  std::vector<Index> sorted(wanted.begin(), wanted.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<Run> runs;
  for (const Index index : sorted) {
    if (!runs.empty() && index / unit - runs.back().last / unit <= 1) {
      runs.back().last = index;
    } else {
      runs.push_back({index, index});
    }
  }
  return runs;
}

/// Step along `extent`: all of it if `limit` allows that, otherwise whole units, at least one. The
/// whole may begin within a unit, so that step is longer by one unit.
Index step(Index limit, Index extent, Index unit) {
  return limit >= extent ? extent + unit : std::max(unit, limit / unit * unit);
}

/// Returns the rows and columns of the units in which the file stores the dataset.
std::pair<Index, Index> storage_unit(const hdf5::Handle& dataset, Index rows, Index cols) {
  const hdf5::ErrorSilencer silencer;
  const hdf5::Handle properties(H5Dget_create_plist(dataset.id()), H5Pclose);
  std::array<hsize_t, 2> chunk{};
  const bool chunked = properties && H5Pget_layout(properties.id()) == H5D_CHUNKED &&
                       H5Pget_chunk(properties.id(), 2, chunk.data()) == 2;
  // A contiguous dataset is stored row by row.
  if (!chunked) return {1, cols};
  return {std::clamp<Index>(static_cast<Index>(chunk[0]), 1, rows),
          std::clamp<Index>(static_cast<Index>(chunk[1]), 1, cols)};
}

}  // namespace

/// The open file. Immutable; the reads of several threads are serialized within hdf5::.
struct Hdf5Operator::Dataset {
  std::string path;
  std::string dataset_name;
  std::string name;  // "file.h5:/dataset", for messages
  bool allows_external = false;
  hdf5::Handle file;
  hdf5::Handle dataset;
  Index rows = 0;
  Index cols = 0;
  Index unit_rows = 1;
  Index unit_cols = 1;

  Dataset(std::string path_given, std::string dataset_given)
      : path(std::move(path_given)),
        dataset_name(std::move(dataset_given)),
        name(fmt::format("{}:{}", path, dataset_name)),
        allows_external(hdf5::external_allowed()) {
    file = hdf5::open_file(path);
    dataset = hdf5::open_dataset(file, dataset_name, path);
    hdf5::require_real_numbers(dataset, name);
    const std::vector<Index> extents = hdf5::shape(dataset);
    if (extents.size() != 2 || extents[0] < 1 || extents[1] < 1) {
      throw FileError(fmt::format("{}: {}; a matrix has two dimensions of at least 1",
                                  name,
                                  extents.size() == 2
                                      ? fmt::format("{} x {} entries", extents[0], extents[1])
                                      : fmt::format("{} dimensions", extents.size())));
    }
    hdf5::require_stored(dataset, name);
    rows = extents[0];
    cols = extents[1];
    std::tie(unit_rows, unit_cols) = storage_unit(dataset, rows, cols);
  }
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  /// Reads the panel in row-major order, which as a block is its transpose, cols x rows.
  void read(const Panel& panel, Matrix& transposed) const {
    transposed.resize(panel.cols, panel.rows);
    hdf5::read_block(
        dataset, panel.row, panel.rows, panel.col, panel.cols, transposed.data(), name);
    if (transposed.allFinite()) return;
    for (Index i = 0; i < panel.rows; ++i) {
      for (Index j = 0; j < panel.cols; ++j) {
        if (std::isfinite(transposed(j, i))) continue;
        fail_not_finite(name, panel.row + i, panel.col + j, transposed(j, i));
      }
    }
  }

  /// Calls visit(panel, its transpose) for panels that cover `whole`, in a fixed order, each of
  /// whole storage units and about `numbers` entries.
  template <class Visit>
  void for_each_panel(const Panel& whole, Index numbers, Visit visit) const {
    const Index row_end = whole.row + whole.rows;
    const Index col_end = whole.col + whole.cols;
    // Whole rows if a row of chunks fits, otherwise parts of a row of chunks.
    const Index height = step(numbers / whole.cols, whole.rows, unit_rows);
    const Index width = step(numbers / std::min(height, whole.rows), whole.cols, unit_cols);
    Matrix transposed;
    for (Index row = whole.row, row_next = 0; row < row_end; row = row_next) {
      row_next = std::min(row_end, row / unit_rows * unit_rows + height);
      for (Index col = whole.col, col_next = 0; col < col_end; col = col_next) {
        col_next = std::min(col_end, col / unit_cols * unit_cols + width);
        const Panel panel{row, row_next - row, col, col_next - col};
        throw_if_stop_requested();
        read(panel, transposed);
        visit(panel, transposed);
      }
    }
  }
};

Hdf5Operator::Hdf5Operator(const std::string& path,
                           const std::string& dataset,
                           Index panel_bytes,
                           bool allow_external)
    : panel_numbers_(panel_bytes / bytes_per_value(Precision::kDouble)) {
  require(panel_bytes >= 1, "hdf5: panels of {} bytes; at least 1 is needed", panel_bytes);
  const hdf5::ExternalScope scope(allow_external);
  dataset_ = std::make_shared<const Dataset>(path, dataset);
}

const std::string& Hdf5Operator::path() const { return dataset_->path; }
const std::string& Hdf5Operator::dataset() const { return dataset_->dataset_name; }
bool Hdf5Operator::allows_external() const { return dataset_->allows_external; }
Index Hdf5Operator::unit_rows() const { return dataset_->unit_rows; }

Index Hdf5Operator::rows() const { return dataset_->rows; }
Index Hdf5Operator::cols() const { return dataset_->cols; }

Vector Hdf5Operator::diagonal() const {
  const Index n = std::min(rows(), cols());
  const Index side = std::min(dataset_->unit_rows, dataset_->unit_cols);
  Vector result(n);
  Matrix square;
  for (Index i = 0; i < n; i += side) {
    const Index size = std::min(side, n - i);
    dataset_->read({i, size, i, size}, square);
    result.segment(i, size) = square.diagonal();
  }
  return result;
}

Cost Hdf5Operator::cost() const {
  const Index size = rows() * cols();
  return {.stored_numbers = size,
          .stored_bytes = size * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = static_cast<double>(size),
          .multiplications_per_column = 0};
}

std::string Hdf5Operator::description() const {
  return fmt::format("HDF5 dataset {}, read in panels", dataset_->name);
}

void Hdf5Operator::do_apply(const ConstBlock& X, Block Y) const {
  if (X.cols() == 0) return;
  using kernels::Trans;
  const auto add = [&](const Panel& panel, const Matrix& transposed) {
    kernels::gemm(Trans::kYes,
                  transposed,
                  Trans::kNo,
                  X.middleRows(panel.col, panel.cols),
                  Y.middleRows(panel.row, panel.rows),
                  1.0,
                  panel.col == 0 ? 0.0 : 1.0);
  };
  dataset_->for_each_panel({0, rows(), 0, cols()}, panel_numbers_, add);
}

void Hdf5Operator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  if (X.cols() == 0) return;
  using kernels::Trans;
  const auto add = [&](const Panel& panel, const Matrix& transposed) {
    kernels::gemm(Trans::kNo,
                  transposed,
                  Trans::kNo,
                  X.middleRows(panel.row, panel.rows),
                  Y.middleRows(panel.col, panel.cols),
                  1.0,
                  panel.row == 0 ? 0.0 : 1.0);
  };
  dataset_->for_each_panel({0, rows(), 0, cols()}, panel_numbers_, add);
}

void Hdf5Operator::do_columns_at(std::span<const Index> J, Block Y) const {
  // Contiguous rows are read by blocks of the file system, not entry by entry.
  constexpr Index kBlockNumbers = 512;
  for (const Run& run : runs_of(J, std::min(dataset_->unit_cols, kBlockNumbers))) {
    const Panel whole{0, rows(), run.first, run.last - run.first + 1};
    dataset_->for_each_panel(whole, panel_numbers_, [&](const Panel& panel, const Matrix& entries) {
      for (Index k = 0; k < Y.cols(); ++k) {
        const Index j = J[static_cast<std::size_t>(k)] - panel.col;
        if (j < 0 || j >= panel.cols) continue;
        Y.col(k).segment(panel.row, panel.rows) = entries.row(j).transpose();
      }
    });
  }
}

void Hdf5Operator::do_rows_at(std::span<const Index> I, Block Y) const {
  for (const Run& run : runs_of(I, dataset_->unit_rows)) {
    const Panel whole{run.first, run.last - run.first + 1, 0, cols()};
    dataset_->for_each_panel(whole, panel_numbers_, [&](const Panel& panel, const Matrix& entries) {
      for (Index k = 0; k < Y.cols(); ++k) {
        const Index i = I[static_cast<std::size_t>(k)] - panel.row;
        if (i < 0 || i >= panel.rows) continue;
        Y.col(k).segment(panel.col, panel.cols) = entries.col(i);
      }
    });
  }
}

}  // namespace matapprox
