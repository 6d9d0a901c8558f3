#include "mpi/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::mpi {

Layout::Layout(std::vector<Index> begins) : Layout(std::move(begins), {1}) {}

Layout::Layout(std::vector<Index> begins, std::vector<Index> widths)
    : begins_(std::move(begins)),
      widths_(std::move(widths)),
      width_(std::accumulate(widths_.begin(), widths_.end(), Index{0})) {
  require(!begins_.empty() && begins_.front() == 0 && std::ranges::is_sorted(begins_),
          "mpi: rows of processes must begin at 0 and ascend");
  constexpr Index kMaxRows = std::numeric_limits<int>::max();
  if (begins_.back() > kMaxRows)
    throw NotAvailable(fmt::format("mpi: {} rows are more than {}", begins_.back(), kMaxRows));
}

int Layout::owner(Index row) const {
  return static_cast<int>(std::ranges::upper_bound(begins_, row) - begins_.begin()) - 1;
}

Layout even_layout(Index rows, int processes) {
  std::vector<Index> begins(static_cast<std::size_t>(processes) + 1);
  const Index least = rows / processes;
  const Index more = rows % processes;
  for (Index p = 0; p <= processes; ++p)
    begins[static_cast<std::size_t>(p)] = p * least + std::min(p, more);
  return Layout(std::move(begins));
}

Layout weighted_layout(const std::vector<Index>& weights, int processes) {
  std::vector<Index> ends(weights.size());  // ends[i]: the work of rows 0 .. i
  std::inclusive_scan(weights.begin(), weights.end(), ends.begin());
  const Index total = ends.empty() ? 0 : ends.back();
  std::vector<Index> begins{0};
  for (Index p = 1; p < processes; ++p) {
    // total * p could overflow Index.
    const Index wanted = total / processes * p + total % processes * p / processes;
    const Index row = std::ranges::lower_bound(ends, wanted) - ends.begin() + 1;
    begins.push_back(std::clamp(row, begins.back(), std::ssize(weights)));
  }
  begins.push_back(std::ssize(weights));
  return Layout(std::move(begins));
}

}  // namespace matapprox::mpi
