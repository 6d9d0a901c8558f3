#include "io/graph_entries.hpp"

#include "io/compressed_rows.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {

SparseMatrix GraphEntries::assemble(Index order,
                                    Index first,
                                    bool mirrored,
                                    const std::string& name) const {
  const Index places = mirrored ? 2 * size() : size();
  require_memory(40 * static_cast<double>(places) + 24 * static_cast<double>(order), name);
  EntryStorage storage({places});
  EntryList& list = storage.lists()[0];
  for (const Entry& entry : entries_) {
    list.append(entry.from - first, entry.to - first, entry.weight);
    if (mirrored && entry.from != entry.to)
      list.append(entry.to - first, entry.from - first, entry.weight);
  }
  return compressed_rows(order, order, std::move(storage), false, name);
}

bool equals_transpose(const SparseMatrix& A) {
  if (A.rows() != A.cols()) return false;
  // Rows are walked in order, so the entries (i, j) of column j come in the order of row j.
  const Index* const start = A.outerIndexPtr();
  std::vector<Index> cursor(start, start + A.rows());
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index k = start[i]; k < start[i + 1]; ++k) {
      const Index j = A.innerIndexPtr()[k];
      const Index mirror = cursor[j]++;
      if (mirror >= start[j + 1] || A.innerIndexPtr()[mirror] != i ||
          A.valuePtr()[mirror] != A.valuePtr()[k]) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace matapprox
