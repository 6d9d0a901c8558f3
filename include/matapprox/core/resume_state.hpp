#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Numbers of a state that need not be held as a whole: columns in another memory space, or an
/// array in a file.
struct StateBlock {
  Index size = 0;
  ConstMultiVectorView columns;  ///< the columns; without a space, the numbers are in a file
  /// Reads numbers first .. first + count - 1, in column order. An array in a file with a checksum
  /// must be read in pieces from the first number on; the last piece verifies the checksum. Throws
  /// FileError.
  std::function<void(Index first, Index count, double* numbers)> read;
};

/// State that an iterative method needs, besides its input and options, to continue exactly where
/// it stopped. Only the method interprets it; it is saved and loaded unchanged.
struct ResumeState {
  std::vector<std::pair<std::string, Vector>> arrays;
  std::vector<std::pair<std::string, Index>> counters;
  /// Further arrays, which are saved and loaded in pieces.
  std::vector<std::pair<std::string, StateBlock>> blocks;

  bool empty() const { return arrays.empty() && counters.empty() && blocks.empty(); }
  bool has_array(const std::string& name) const;
  /// Throw FileError if there is no entry of that name, NotAvailable if it does not fit into
  /// memory.
  Vector array(const std::string& name) const;
  Index array_size(const std::string& name) const;
  Index counter(const std::string& name) const;
  /// A matrix is an array, its columns one after the other, and the counters NAME_rows and
  /// NAME_cols. matrix() throws InvalidArgument if these contradict each other.
  void add_matrix(const std::string& name, const Matrix& values);
  Matrix matrix(const std::string& name) const;

  /// Adds an array with these columns one after the other. Columns in a distributed memory space
  /// (MemorySpace::is_distributed) stay there: they and the space must outlive this state and its
  /// copies. All other columns are copied.
  void add_columns(const std::string& name, const ConstMultiVectorView& columns);
  /// Copies an array into columns of any memory space, in pieces. Throws InvalidArgument if the
  /// sizes differ.
  void copy_array(const std::string& name, const MultiVectorView& to) const;
  /// Returns a copy that owns all its numbers.
  ResumeState with_own_numbers() const;
};

}  // namespace matapprox
