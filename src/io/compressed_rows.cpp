#include "io/compressed_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/large_pages.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

/// Sorts one row by column, keeping the order of entries in the same column.
void sort_row(Index* cols, double* values, Index count) {
  constexpr Index kShort = 32;
  if (count <= kShort) {
    for (Index k = 1; k < count; ++k) {
      const Index col = cols[k];
      const double value = values[k];
      Index to = k;
      for (; to > 0 && cols[to - 1] > col; --to) {
        cols[to] = cols[to - 1];
        values[to] = values[to - 1];
      }
      cols[to] = col;
      values[to] = value;
    }
    return;
  }
  std::vector<std::pair<Index, double>> entries(count);
  for (Index k = 0; k < count; ++k) entries[k] = {cols[k], values[k]};
  std::stable_sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return a.first < b.first;
  });
  for (Index k = 0; k < count; ++k) std::tie(cols[k], values[k]) = entries[k];
}

/// Adds up equal columns of a sorted row and drops zeros; returns the number of entries that
/// remain.
Index merge_row(Index* cols, double* values, Index count, bool keep_zeros) {
  Index kept = 0;
  for (Index k = 0; k < count;) {
    const Index col = cols[k];
    double sum = values[k];
    for (++k; k < count && cols[k] == col; ++k) sum += values[k];
    if (sum == 0 && !keep_zeros) continue;
    cols[kept] = col;
    values[kept++] = sum;
  }
  return kept;
}

/// True if the row is already as merge_row would leave it.
bool is_tidy(const Index* cols, const double* values, Index count, bool keep_zeros) {
  bool zero = false;
  for (Index k = 0; k < count; ++k) zero = zero || values[k] == 0;
  if (zero && !keep_zeros) return false;
  for (Index k = 1; k < count; ++k) {
    if (cols[k - 1] >= cols[k]) return false;
  }
  return true;
}

/// Builds the matrix step by step; all steps but close_gaps are parallel over ranges of rows.
class RowBuilder {
 public:
  RowBuilder(Index rows, Index cols, EntryStorage entries)
      : entries_(std::move(entries)), A_(rows, cols), start_(A_.outerIndexPtr()) {}

  SparseMatrix build(bool keep_zeros, const std::string& name) {
    count();
    place();
    entries_ = EntryStorage({});
    const std::vector<Index> kept = tidy(keep_zeros, name);
    close_gaps(kept);
    SparseMatrix built;  // Eigen's sparse matrices can be swapped but not moved
    built.swap(A_);
    return built;
  }

 private:
  /// start_[r + 1] = number of entries in the rows up to r.
  void count() {
    const Index rows = A_.rows();
    const Index parts = std::min<Index>(threads(), rows);
    parallel_for(parts, [&](Index part) {
      for_rows(rows * part / parts, rows * (part + 1) / parts, [&](const EntryList& list, Index k) {
        ++start_[list.rows[k] + 1];
      });
    });
    std::partial_sum(start_, start_ + rows + 1, start_);
    cut_ = {0};
    for (Index part = 1; part < parts; ++part) {  // equal shares of the entries
      const Index* const at = std::lower_bound(start_, start_ + rows, start_[rows] / parts * part);
      cut_.push_back(std::max<Index>(cut_.back(), at - start_));
    }
    cut_.push_back(rows);
  }

  /// Moves the entries to their rows; start_[r] serves as the cursor of row r and is restored
  /// afterwards.
  void place() {
    const Index rows = A_.rows();
    A_.resizeNonZeros(start_[rows]);
    Index* const cols = A_.innerIndexPtr();
    double* const values = A_.valuePtr();
    prefer_large_pages(cols, A_.data().size() * sizeof(Index));
    prefer_large_pages(values, A_.data().size() * sizeof(double));
    parallel_for(parts(), [&](Index part) {
      for_rows(cut_[part], cut_[part + 1], [&](const EntryList& list, Index k) {
        const Index to = start_[list.rows[k]]++;
        cols[to] = list.cols[k];
        values[to] = list.values[k];
      });
    });
    std::copy_backward(start_, start_ + rows, start_ + rows + 1);
    start_[0] = 0;
  }

  /// Sorts and merges every row; returns the number of entries that each row keeps.
  std::vector<Index> tidy(bool keep_zeros, const std::string& name) {
    std::vector<Index> kept(A_.rows());
    std::vector<Index> overflow(parts(), A_.rows());
    parallel_for(parts(), [&](Index part) {
      for (Index r = cut_[part]; r < cut_[part + 1]; ++r) {
        Index* const cols = A_.innerIndexPtr() + start_[r];
        double* const values = A_.valuePtr() + start_[r];
        kept[r] = start_[r + 1] - start_[r];
        if (is_tidy(cols, values, kept[r], keep_zeros)) continue;
        sort_row(cols, values, kept[r]);
        kept[r] = merge_row(cols, values, kept[r], keep_zeros);
        const bool finite =
            std::all_of(values, values + kept[r], [](double v) { return std::isfinite(v); });
        if (!finite) overflow[part] = std::min(overflow[part], r);
      }
    });
    const Index row = *std::min_element(overflow.begin(), overflow.end());
    if (row < A_.rows()) {
      fail_in(
          name,
          fmt::format("the duplicates of an entry in row {} add up to more than the largest double",
                      row + 1));
    }
    return kept;
  }

  void close_gaps(const std::vector<Index>& kept) {
    const Index rows = A_.rows();
    Index to = 0;
    for (Index r = 0; r < rows; ++r) {
      const Index from = start_[r];
      start_[r] = to;
      if (from != to) {
        std::copy_n(A_.innerIndexPtr() + from, kept[r], A_.innerIndexPtr() + to);
        std::copy_n(A_.valuePtr() + from, kept[r], A_.valuePtr() + to);
      }
      to += kept[r];
    }
    const bool shorter = to < start_[rows];
    start_[rows] = to;
    if (shorter) {
      A_.resizeNonZeros(to);
      A_.data().squeeze();
    }
  }

  /// Calls function(list, k) for the entries of the rows low..high-1, in the order of the lists.
  template <class Function>
  void for_rows(Index low, Index high, const Function& function) {
    const bool all = low == 0 && high == A_.rows();
    for (const EntryList& list : entries_.lists()) {
      for (Index k = 0; k < list.count; ++k) {
        if (all || (list.rows[k] >= low && list.rows[k] < high)) function(list, k);
      }
    }
  }

  Index parts() const { return static_cast<Index>(cut_.size()) - 1; }

  EntryStorage entries_;
  SparseMatrix A_;
  Index* start_;
  std::vector<Index> cut_;  ///< ranges of rows with about equally many entries
};

}  // namespace

EntryStorage::EntryStorage(const std::vector<Index>& capacities) {
  const Index total = std::accumulate(capacities.begin(), capacities.end(), Index{0});
  indices_ = std::make_unique_for_overwrite<Index[]>(2 * total);
  values_ = std::make_unique_for_overwrite<double[]>(total);
  prefer_large_pages(indices_.get(), 2 * total * sizeof(Index));
  prefer_large_pages(values_.get(), total * sizeof(double));
  Index* rows = indices_.get();
  double* values = values_.get();
  for (const Index capacity : capacities) {
    lists_.push_back({rows, rows + total, values, 0});
    rows += capacity;
    values += capacity;
  }
}

SparseMatrix compressed_rows(
    Index rows, Index cols, EntryStorage entries, bool keep_zeros, const std::string& name) {
  return RowBuilder(rows, cols, std::move(entries)).build(keep_zeros, name);
}

}  // namespace matapprox
