#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Numbers of a state that nobody has to hold as a whole: columns that lie in another memory, or an
/// array of a file.
struct StateBlock {
  Index size = 0;
  ConstMultiVectorView columns;  ///< where they lie; without a space: in a file
  /// Numbers first .. first + count - 1, one column after the other. From a file whose checksum has
  /// to be verified, a piece at a time from the first number on: the last piece verifies it. Throws
  /// FileError.
  std::function<void(Index first, Index count, double* numbers)> read;
};

/// What an iterative method needs, besides its input and options, to go on exactly where it was.
/// Opaque to everyone but the method; saved and loaded as it is.
struct ResumeState {
  std::vector<std::pair<std::string, Vector>> arrays;
  std::vector<std::pair<std::string, Index>> counters;
  /// Arrays too, for those who save or load them.
  std::vector<std::pair<std::string, StateBlock>> blocks;

  bool empty() const { return arrays.empty() && counters.empty() && blocks.empty(); }
  bool has_array(const std::string& name) const;
  /// Throw FileError if there is none of that name, NotAvailable if it is too long for the memory.
  Vector array(const std::string& name) const;
  Index array_size(const std::string& name) const;
  Index counter(const std::string& name) const;
  /// A matrix is an array, its columns one after the other, and the counters NAME_rows and
  /// NAME_cols. matrix() throws InvalidArgument where these contradict each other.
  void add_matrix(const std::string& name, const Matrix& values);
  Matrix matrix(const std::string& name) const;

  /// The columns one after the other. Where their memory keeps results (MemorySpace::keeps_results)
  /// they stay there, and it and they have to outlive this state and what is copied from it; from
  /// elsewhere they are copied.
  void add_columns(const std::string& name, const ConstMultiVectorView& columns);
  /// An array into columns of any memory, a piece at a time. Throws InvalidArgument if it has
  /// another number of numbers.
  void copy_array(const std::string& name, const MultiVectorView& to) const;
  /// A copy that has all its numbers itself.
  ResumeState with_own_numbers() const;
};

}  // namespace matapprox
