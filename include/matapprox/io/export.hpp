#pragma once

#include <string>
#include <vector>

#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// Writes the factors for other programs; the format follows from the name (docs/file-format.md,
/// "Exports"):
///   .mat  cell array `faust_factors`, each factor a dense or sparse matrix, as FAuST reads it
///   .npz  arrays per factor, sparse ones as their row pointers, column indices and values
///   .mtx  one MatrixMarket file per factor: out.mtx becomes out_1.mtx, out_2.mtx, ...
/// A Chord chain becomes one sparse matrix per factor; a random projection is written as its k x n
/// entries. A symmetrized product (Z + Z^T)/2 is written as [F_1/2  G_1^T/2] ... so that the plain
/// product of the written factors is the approximation. Returns the names of the written files;
/// each is written to a temporary file and renamed. Throws FileError, InvalidArgument for another
/// extension, NotAvailable if memory is short.
std::vector<std::string> export_approximation(const std::string& path,
                                              const Approximation& approximation);

/// Returns the names of the files that export_approximation would write, without writing them.
/// Throws InvalidArgument for another extension.
std::vector<std::string> exported_files(const std::string& path,
                                        const Approximation& approximation);

}  // namespace matapprox
