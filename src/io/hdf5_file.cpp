#include "matapprox/io/hdf5_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/require.hpp"
#include "io/hdf5_image.hpp"
#include "io/hdf5_values.hpp"
#include "io/isolated.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {

namespace {

using hdf5::Handle;

constexpr Index kNumbersAtOnce = Index{1} << 22;

std::string label(const std::string& path, const std::string& dataset) {
  return fmt::format("{}:{}", path, dataset);
}

bool holds_real_numbers(const Handle& dataset) {
  const Handle type(H5Dget_type(dataset.id()), H5Tclose);
  const H5T_class_t kind = type ? H5Tget_class(type.id()) : H5T_NO_CLASS;
  return kind == H5T_INTEGER || kind == H5T_FLOAT;
}

/// The only dataset of numbers with one or two dimensions.
std::string only_matrix(const Handle& file, const std::string& path) {
  std::vector<std::string> found;
  for (const std::string& name : hdf5::list_datasets(file)) {
    const Handle dataset = hdf5::open_dataset(file, name, path);
    const std::size_t dimensions = hdf5::shape(dataset).size();
    if (holds_real_numbers(dataset) && (dimensions == 1 || dimensions == 2)) found.push_back(name);
  }
  if (found.empty()) throw FileError(fmt::format("{}: no dataset that is a real matrix", path));
  if (found.size() > 1) {
    found.resize(std::min<std::size_t>(found.size(), 20));
    throw FileError(fmt::format("{}: several datasets, name one of them as '{}:NAME': {}",
                                path,
                                path,
                                fmt::join(found, ", ")));
  }
  return found.front();
}

Hdf5DatasetInfo find(const std::string& path, const std::string& wanted) {
  const hdf5::Quiet quiet;
  const Handle file = hdf5::open_file(path);
  Hdf5DatasetInfo info{wanted.empty() ? only_matrix(file, path) : wanted, 0, 1};
  const std::string what = label(path, info.dataset);
  const Handle dataset = hdf5::open_dataset(file, info.dataset, path);
  hdf5::require_real_numbers(dataset, what);
  const std::vector<Index> extents = hdf5::shape(dataset);
  if (extents.size() != 1 && extents.size() != 2) {
    throw FileError(fmt::format("{}: {} dimensions where 1 or 2 are read", what, extents.size()));
  }
  info.rows = extents[0];
  if (extents.size() == 2) info.cols = extents[1];
  if (info.rows < 1 || info.cols < 1) {
    throw FileError(fmt::format("{}: {} x {} is no matrix", what, info.rows, info.cols));
  }
  double value = 0;  // the last entry is the one that a truncated file lacks
  hdf5::read_block(dataset, info.rows - 1, 1, info.cols - 1, 1, &value, what);
  return info;
}

void require_finite(const Matrix& A, Index first_row, Index count, const std::string& what) {
  for (Index i = first_row; i < first_row + count; ++i) {
    for (Index j = 0; j < A.cols(); ++j) {
      if (!std::isfinite(A(i, j))) {
        throw FileError(
            fmt::format("{}: row {}, column {}: {} is not a finite number", what, i, j, A(i, j)));
      }
    }
  }
}

Matrix read_whole_dataset(const std::string& path, const std::string& wanted) {
  const hdf5::Quiet quiet;
  const Hdf5DatasetInfo info = find(path, wanted);
  const std::string what = label(path, info.dataset);
  require_memory(8.0 * static_cast<double>(info.rows) * static_cast<double>(info.cols), what);
  const Handle file = hdf5::open_file(path);
  const Handle dataset = hdf5::open_dataset(file, info.dataset, path);
  Matrix A(info.rows, info.cols);
  const Index step = std::min(info.rows, std::max<Index>(1, kNumbersAtOnce / info.cols));
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  RowMajor rows(step, info.cols);
  for (Index first = 0; first < info.rows; first += step) {
    const Index count = std::min(step, info.rows - first);
    hdf5::read_block(dataset, first, count, 0, info.cols, rows.data(), what);
    A.middleRows(first, count) = rows.topRows(count);
    require_finite(A, first, count, what);
  }
  return A;
}

}  // namespace

Hdf5DatasetInfo find_hdf5_matrix(const std::string& path, const std::string& dataset) {
  rehearse(path, "HDF5", [&] { find(path, dataset); });
  return find(path, dataset);
}

Matrix read_hdf5_matrix(const std::string& path, const std::string& dataset) {
  rehearse(path, "HDF5", [&] { read_whole_dataset(path, dataset); });
  return read_whole_dataset(path, dataset);
}

void write_hdf5_matrix(const std::string& path, const std::string& dataset, const Matrix& values) {
  require(values.size() > 0, "{}: an empty matrix cannot be written", path);
  require(!dataset.empty() && dataset.find('/', 1) == std::string::npos && dataset != "/",
          "{}: '{}' is no name of a dataset at the root of the file",
          path,
          dataset);
  const hdf5::Quiet quiet;
  hdf5::Image image(path);
  hdf5::write_values(
      {image.file(), path},
      dataset,
      {values.rows(), values.cols()},
      Precision::kDouble,
      [&](Index first, Index count, double* target) {
        using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        Eigen::Map<RowMajor>(target, count, values.cols()) = values.middleRows(first, count);
      });
  image.write();
}

}  // namespace matapprox
