#pragma once

#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

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

}  // namespace matapprox::mpi
