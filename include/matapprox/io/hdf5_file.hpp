#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Shape of a dataset of real numbers.
struct Hdf5DatasetInfo {
  std::string dataset;  ///< its full name, "/group/A"
  Index rows = 0;
  Index cols = 0;  ///< 1 for a one-dimensional dataset
};

/// Finds a matrix in an HDF5 file without reading it. `dataset` empty: the only dataset of numbers
/// with one or two dimensions. Throws FileError if the file is missing, not HDF5, damaged, or has
/// no such dataset or several to choose from (naming them).
Hdf5DatasetInfo find_hdf5_matrix(const std::string& path, const std::string& dataset = {});

/// Reads that matrix as a whole, as doubles. Throws as find_hdf5_matrix does, NumericalError for
/// NaN and Inf, and NotAvailable if memory does not suffice.
Matrix read_hdf5_matrix(const std::string& path, const std::string& dataset = {});

/// Writes a file with one dataset of doubles (row-major, rows x cols), as a temporary file that is
/// then renamed. Throws FileError.
void write_hdf5_matrix(const std::string& path, const std::string& dataset, const Matrix& values);

}  // namespace matapprox
