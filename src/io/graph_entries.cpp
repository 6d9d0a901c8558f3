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

}  // namespace matapprox
