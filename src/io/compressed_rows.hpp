#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Entries of a matrix in the order in which a file gives them.
struct EntryList {
  std::unique_ptr<Index[]> rows;
  std::unique_ptr<Index[]> cols;
  std::unique_ptr<double[]> values;
  Index count = 0;

  EntryList() = default;
  explicit EntryList(Index capacity);  ///< room for so many, uninitialised
  void append(Index row, Index col, double value) {
    rows[count] = row;
    cols[count] = col;
    values[count] = value;
    ++count;
  }
};

/// Compressed rows with ascending columns from entries in any order, all of them inside rows x cols.
/// Entries of the same place are added in the order of the lists; sums that are 0 are dropped
/// unless `keep_zeros`. Empties the lists.
///
/// Cost: a counting sort over the rows, in parallel over ranges of rows; 16 bytes per entry and 16 per
/// row besides the lists. The result does not depend on threads(). Throws FileError "name: ..." if a
/// sum overflows.
SparseMatrix compressed_rows(Index rows,
                             Index cols,
                             std::vector<EntryList> lists,
                             bool keep_zeros,
                             const std::string& name);

}  // namespace matapprox
