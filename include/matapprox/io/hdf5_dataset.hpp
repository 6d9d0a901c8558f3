#pragma once

#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// A two-dimensional dataset of integers or floating-point numbers in an HDF5 file, m x n, which
/// may be larger than memory: every product, column and row reads what it needs, in panels of whole
/// chunks (whole rows where the file is contiguous) of about `panel_bytes`, and converts it to
/// double. Holds no numbers itself (cost() counts the file's). A product reads the dataset once,
/// whatever the number of columns of the block. Reads from several threads take turns. Every read
/// throws FileError if the file cannot be read, NumericalError, naming row and column, for NaN or
/// Inf.
class Hdf5Operator final : public LinearOperator {
 public:
  /// Throws FileError if the file or dataset does not exist, cannot be opened, or is not a
  /// two-dimensional dataset of numbers, if its numbers lie in other files (unless allow_external)
  /// or were never written; InvalidArgument unless panel_bytes >= 1 (a panel has at
  /// least one chunk, or one row, whatever its size).
  Hdf5Operator(const std::string& path,
               const std::string& dataset,
               Index panel_bytes = Index{256} << 20,
               bool allow_external = false);

  /// The file and the dataset, as they were given.
  const std::string& path() const;
  const std::string& dataset() const;
  /// Whether it was made with leave to read other files.
  bool allows_external() const;
  /// Rows that the file stores together: those of a chunk, else one.
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
  Index panel_numbers_;  ///< entries of a panel, about
};

/// From here on load() leaves a matrix of more than `bytes` as doubles in its HDF5 file, as an
/// Hdf5Operator, as it does in any case with one of more than half of the free memory. For programs
/// whose processes read their rows themselves. Not while another thread loads something.
void leave_datasets_in_files(Index bytes);

}  // namespace matapprox
