#pragma once

#include <vector>

#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Rows row, row + 1, ... of one process, linked to the rows linked, linked + 1, ... of another
/// process or of the same one.
struct LinkedRows {
  Index row = 0;
  Index linked = 0;
  Index count = 0;
  int owner = 0;  ///< process that has the linked rows
};

/// Returns the pairs of row i of a process and row (i + offset) mod N, 0 <= offset < N, by i.
std::vector<LinkedRows> linked_rows(const Layout& layout, int process, Index offset);

/// The rows of a panel that the links of one factor connect to the rows of a process and that lie
/// on other processes. They are intervals, since links are shifts.
class LinkHalo {
 public:
  struct Interval {
    int process = 0;
    Index first = 0;
    Index count = 0;
  };

  /// Row i of the factor is linked to the rows (i + offset) mod N.
  LinkHalo(const Layout& layout, int process, const std::vector<Index>& offsets);

  /// Receives the missing rows into a row-major panel of all N rows, in which this process's rows
  /// are already present. Each interval is one message, sent from and received into its place in
  /// the panel. All processes call it together.
  void receive_ghosts(const Process& process, Index width, double* panel) const;

  const std::vector<Interval>& received() const { return received_; }
  const std::vector<Interval>& sent() const { return sent_; }

 private:
  std::vector<Interval> received_;
  std::vector<Interval> sent_;
};

}  // namespace matapprox::mpi
