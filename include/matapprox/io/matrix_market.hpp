#pragma once

#include <string>
#include <string_view>

#include "matapprox/io/file_matrix.hpp"

namespace matapprox {

struct MatrixMarketOptions {
  /// Coordinate files: store entries that the file gives as 0. Otherwise an entry is stored exactly
  /// if its value, after summing duplicates, is not 0.
  bool keep_explicit_zeros = false;
};

/// Reads a MatrixMarket file (math.nist.gov/MatrixMarket/formats.html): `array` gives a Matrix,
/// `coordinate` a SparseMatrix with sorted columns. Fields real, double, integer, pattern (value
/// 1); symmetries general, symmetric, skew-symmetric, the latter two expanded; matrices may be
/// rectangular. Duplicates are summed in file order. Also accepted: .gz, "-" for standard input,
/// Windows line ends, blank and comment lines anywhere, '+' signs, Fortran's D exponents.
///
/// Cost: one pass over the text, spread over threads(); memory at most 40 bytes per stored entry
/// (at least 4 bytes in the file) and 16 per row. The result does not depend on threads(). Throws
/// FileError "name:line: what, value, legal range" for anything that is not such a file, including
/// complex and hermitian files, counts that do not match the file, indices out of range, and a
/// diagonal entry of a skew-symmetric matrix; NumericalError, with the line, for NaN and Inf;
/// NotAvailable if the matrix needs more memory than the machine has.
FileMatrix read_matrix_market(const std::string& path, const MatrixMarketOptions& options = {});

/// The same for text in memory; `name` stands for the file in messages.
FileMatrix parse_matrix_market(std::string_view text,
                               const std::string& name,
                               const MatrixMarketOptions& options = {});

/// Writes `array real general`, or `coordinate real`, with numbers in the shortest form that reads
/// back to the same double. With `symmetric` only the lower triangle is written: the caller
/// guarantees A = A^T. The file appears under its name only when complete. Throws FileError;
/// InvalidArgument for NaN, Inf, an empty matrix, or `symmetric` with a matrix that is not square.
void write_matrix_market(const std::string& path, const Matrix& A);
void write_matrix_market(const std::string& path, const SparseMatrix& A, bool symmetric = false);

}  // namespace matapprox
