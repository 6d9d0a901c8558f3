#pragma once

#include <functional>
#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// Returns the number of rows per message when a block of `columns` columns is sent to all
/// processes or summed over them: about a megabyte, and a multiple of 256.
Index panel_rows(Index columns);

/// Sends the rows first .. first + panel.rows() - 1 of a block to all processes, each row from the
/// process that has it in `layout`. X: this process's rows of the block.
void gather_rows(const Process& process,
                 const Layout& layout,
                 const ConstMultiVectorView& X,
                 Index first,
                 Matrix& panel);

/// Sums blocks over the processes; Y gets this process's rows of the sum, in `layout`. Works in
/// panels: make(first, panel) computes the rows first .. first + panel.rows() - 1 of this process's
/// summand. The order of the additions depends only on the layout. Memory: two panels of about a
/// megabyte. Throws AgreedFailure if `make` fails or the caller asks to stop.
void sum_rows(const Process& process,
              const Layout& layout,
              const std::function<void(Index first, Matrix& panel)>& make,
              const MultiVectorView& Y);

/// The rows of other processes that one process needs, its ghosts, and the exchange that brings
/// them: one message from each process that has some. All processes call its functions together.
class Halo {
 public:
  /// `ghosts`: ascending rows of `layout` that lie on other processes. Throws AgreedFailure if a
  /// process runs out of memory.
  Halo(const Process& process, const Layout& layout, const std::vector<Index>& ghosts);

  /// Returns this process's rows of X, followed by its ghosts. Throws AgreedFailure likewise.
  Matrix with_ghosts(const Process& process, const ConstMultiVectorView& X) const;

 private:
  /// Another process, and the ghosts received from it.
  struct Source {
    int process;
    Index first;
    Index count;
  };
  struct Target {
    int process;
    std::vector<Index> rows;  ///< rows of this process to send, counted from its first row
  };
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  Index ghosts_ = 0;
};

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
