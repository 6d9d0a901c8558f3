#pragma once

#include <petscmat.h>

#include <array>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A weighted graph of N nodes with a loop at each and ten edges: from node i to i + d and i - d
/// for five distances d, mod N. The weight of an edge is a random number times s_i s_j, that of a
/// loop s_i^2, where the s are (1 + r)^-0.3 for a permutation r of the nodes: few nodes carry most
/// of the weight, as in graphs of the web, and the leading singular values are well separated.
inline constexpr int kDistances = 5;
std::array<Index, kDistances> graph_distances(Index nodes);

/// Returns the matrix of the graph, of which each process makes the rows that PETSc gives it. All
/// processes of `comm` call it together, and each destroys the matrix. `nodes` is not a multiple of
/// 7919.
Mat graph_matrix(Index nodes, MPI_Comm comm);

}  // namespace matapprox
