#pragma once

#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reads a graph's adjacency matrix from lines "u v" or "u v weight" (separated by blanks, tabs, or
/// a comma); # and % start comments. Nodes are whole numbers: counted from 0 if a 0 occurs,
/// otherwise from 1. The order of the matrix is the largest node (plus 1 when counted from 0). A
/// missing weight is 1; parallel edges add up; a loop counts once.
///
/// Undirected: A(u,v) = A(v,u). A list that gives each edge in both directions, with equal weights,
/// is used unchanged; in any other list, each line is a separate edge.
/// Directed: A(u,v) only, row u, column v.
/// Entries whose sum is 0 are not stored. Also accepted: .gz, "-" for standard input, Windows line
/// ends.
///
/// Cost: one pass and a counting sort; at most 160 bytes of memory per edge (at least 4 bytes in
/// the file) and 8 per node. Throws FileError "name:line: what, value, legal range" for names
/// instead of numbers, a line with one number or more than three, or no edge at all; NumericalError
/// for NaN or Inf; NotAvailable if memory does not suffice.
SparseMatrix read_edge_list(const std::string& path, bool directed = false);
SparseMatrix parse_edge_list(std::string_view text, const std::string& name, bool directed = false);

/// Reads a Pajek network (.net, or a .paj with one network): *Vertices n, then any of *Edges (both
/// directions), *Arcs (row to column), *Edgeslist, *Arcslist and *Matrix, added up over all
/// sections and relations. Vertices count from 1; labels, coordinates, colors and time intervals
/// are skipped, as are *Partition, *Vector and other sections; lines that start with % are
/// comments. A missing weight is 1. Entries whose sum is 0 are not stored. Cost and exceptions as
/// for read_edge_list.
SparseMatrix read_pajek(const std::string& path);
SparseMatrix parse_pajek(std::string_view text, const std::string& name);

}  // namespace matapprox
