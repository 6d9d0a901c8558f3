#pragma once

#include <vector>

#include "matapprox/core/multi_vector.hpp"
#include "mpi/layout.hpp"
#include "mpi/process.hpp"

namespace matapprox::mpi {

/// The rows of other processes that one process needs, its ghosts, and the way on which they come:
/// one message from each process that has some. All processes call its functions together.
class Halo {
 public:
  /// Ghosts are rows of `layout` that lie elsewhere, ascending. Throws AgreedFailure where a
  /// process has no memory.
  Halo(const Process& process, const Layout& layout, const std::vector<Index>& ghosts);

  /// This process's rows of X, and then its ghosts. Throws AgreedFailure likewise.
  Matrix with_ghosts(const Process& process, const ConstMultiVectorView& X) const;

 private:
  /// Another process, and ghosts that come from it or go to it.
  struct Source {
    int process;
    Index first;
    Index count;
  };
  struct Target {
    int process;
    std::vector<Index> rows;  ///< of this process, counted from its first
  };
  std::vector<Source> sources_;
  std::vector<Target> targets_;
  Index ghosts_ = 0;
};

}  // namespace matapprox::mpi
