#include "operators/sparse_symmetry.hpp"

#include <vector>

namespace matapprox {

std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A) {
  const Index n = A.rows();
  const Index* start = A.outerIndexPtr();
  const Index* columns = A.innerIndexPtr();
  const double* values = A.valuePtr();
  // next[j]: the first entry of row j that has not met its mirror image. Rows are visited in order,
  // so the mirror of (i, j) in row j must be the next one there.
  std::vector<Index> next(start, start + n);
  for (Index i = 0; i < n; ++i) {
    for (Index p = start[i]; p < start[i + 1]; ++p) {
      if (values[p] == 0.0) continue;
      const Index j = columns[p];
      Index& q = next[static_cast<std::size_t>(j)];
      while (q < start[j + 1] && values[q] == 0.0) ++q;
      // An earlier entry (j, k) is left over: row k, already visited, has no (k, j).
      if (q < start[j + 1] && columns[q] < i) return Asymmetry{j, columns[q], values[q], 0.0};
      const bool found = q < start[j + 1] && columns[q] == i;
      if (!found) return Asymmetry{i, j, values[p], 0.0};
      if (values[q] != values[p]) return Asymmetry{i, j, values[p], values[q]};
      ++q;
    }
  }
  return std::nullopt;
}

}  // namespace matapprox
