#pragma once

#include <vector>

#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Rows row, row + 1, ... of one process, linked to rows linked, linked + 1, ... of another or of
/// the same one.
struct LinkedRows {
  Index row = 0;
  Index linked = 0;
  Index count = 0;
  int owner = 0;  ///< of the linked rows
};

/// Each row i of a process and row (i + offset) mod N, offset in 0..N-1, in the order of i.
std::vector<LinkedRows> linked_rows(const Layout& layout, int process, Index offset);

/// The rows of a panel that the links of one factor lead to from the rows of a process and that lie
/// elsewhere: intervals, as the rows of a process and their shifts are.
class LinkHalo {
 public:
  struct Interval {
    int process = 0;
    Index first = 0;
    Index count = 0;
  };

  /// Row i of the factor has links to the rows (i + offset) mod N.
  LinkHalo(const Layout& layout, int process, const std::vector<Index>& offsets);

  /// Into a row-major panel of all N rows, of which this process's are there already: one message
  /// an interval, from where it lies to where it belongs. All processes call it together.
  void bring(const Process& process, Index width, double* panel) const;

  const std::vector<Interval>& received() const { return received_; }
  const std::vector<Interval>& sent() const { return sent_; }

 private:
  std::vector<Interval> received_;
  std::vector<Interval> sent_;
};

}  // namespace matapprox::mpi
