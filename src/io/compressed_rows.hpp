#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Entries of a matrix in the order of a file, in memory of an EntryStorage.
struct EntryList {
  Index* rows = nullptr;
  Index* cols = nullptr;
  double* values = nullptr;
  Index count = 0;

  void append(Index row, Index col, double value) {
    rows[count] = row;
    cols[count] = col;
    values[count] = value;
    ++count;
  }
};

/// Memory for the entries of a whole file: one list for each piece of its text, 24 bytes per entry.
class EntryStorage {
 public:
  /// Creates empty lists with these capacities.
  explicit EntryStorage(const std::vector<Index>& capacities);
  std::vector<EntryList>& lists() { return lists_; }
  const std::vector<EntryList>& lists() const { return lists_; }

 private:
  std::unique_ptr<Index[]> indices_;
  std::unique_ptr<double[]> values_;
  std::vector<EntryList> lists_;
};

/// Returns compressed rows with ascending columns from entries in any order, all of them inside
/// rows x cols. Entries at the same position are added in the order of the lists; sums that are 0
/// are dropped unless `keep_zeros`. Frees the entries.
///
/// Cost: a counting sort over the rows, in parallel over ranges of rows; 16 bytes per entry and 16
/// per row besides the storage. The result does not depend on threads(). Throws FileError "name:
/// ..." if a sum overflows.
SparseMatrix compressed_rows(
    Index rows, Index cols, EntryStorage entries, bool keep_zeros, const std::string& name);

}  // namespace matapprox
