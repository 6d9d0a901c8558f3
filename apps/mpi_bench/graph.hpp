#pragma once

#include <petscmat.h>

#include <array>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A weighted graph of N nodes with a loop at each and ten edges: from node i to i + d and i - d
/// for five distances d, mod N. The weight of an edge is a random number times s_i s_j, that of a
/// loop s_i^2, where the s are (1 + r)^-0.3 for a permutation r of the nodes: few nodes carry most
/// of the weight, as in graphs of the web, and the leading singular values are well separated.
class Graph {
 public:
  static constexpr int kDistances = 5;

  explicit Graph(Index nodes);

  Index nodes() const { return nodes_; }
  const std::array<Index, kDistances>& distances() const { return distances_; }
  /// Rows of this process, as distributed by PETSc. All processes of `comm` call it together.
  Mat rows_of(MPI_Comm comm) const;

 private:
  double strength(Index i) const;
  double weight(Index from, Index to, Index k) const;

  Index nodes_;
  std::array<Index, kDistances> distances_{};
};

}  // namespace matapprox
