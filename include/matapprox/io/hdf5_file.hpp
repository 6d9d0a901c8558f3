#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
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

/// A two-dimensional dataset of integers or floating-point numbers in an HDF5 file, m x n, which
/// may be larger than memory. Products, columns and rows are computed from panels of about
/// `panel_bytes`, each of whole chunks (whole rows if the dataset is contiguous), which are read
/// when needed and converted to double. Holds no numbers itself (cost() counts the file's). A
/// product reads the dataset once, for any number of columns of the block. Reads from several
/// threads are serialized. Every read throws FileError if the file cannot be read, NumericalError,
/// naming row and column, for NaN or Inf.
class Hdf5Operator final : public LinearOperator {
 public:
  /// Throws FileError if the file or dataset does not exist, cannot be opened, or is not a
  /// two-dimensional dataset of numbers, or if its numbers are in other files (unless
  /// allow_external) or were never written; InvalidArgument unless panel_bytes >= 1 (a panel has at
  /// least one chunk, or one row, of any size).
  Hdf5Operator(const std::string& path,
               const std::string& dataset,
               Index panel_bytes = Index{256} << 20,
               bool allow_external = false);

  /// The file and the dataset, as given.
  const std::string& path() const;
  const std::string& dataset() const;
  /// True if the constructor allowed reading other files.
  bool allows_external() const;
  /// Number of rows that the file stores together: those of a chunk, else one.
  Index unit_rows() const;

  Index rows() const override;
  Index cols() const override;
  Vector diagonal() const override;
  Cost cost() const override;
  std::string description() const override;

 private:
  struct Dataset;
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;

  std::shared_ptr<const Dataset> dataset_;
  Index panel_numbers_;  ///< approximate number of entries of a panel
};

/// From now on load() leaves a matrix of more than `bytes` bytes (as doubles) in its HDF5 file, as
/// an Hdf5Operator; it always does so for a matrix of more than half of the free memory. For
/// programs whose processes read their rows themselves. Must not be called while another thread
/// loads something.
void leave_datasets_in_files(Index bytes);

}  // namespace matapprox
