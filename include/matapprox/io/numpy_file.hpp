#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reads a NumPy array (format 1.0, 2.0, 3.0): bool, signed and unsigned integers of 1 to 8 bytes,
/// f4, f8, either byte order, C or Fortran order, one or two dimensions; one dimension becomes a
/// column. Integers beyond 2^53 are rounded to the nearest double. "-" reads standard input.
///
/// Cost: one pass, 8 bytes of memory per number (at least one byte in the file). Throws FileError
/// naming the file and the legal range for complex, object, string and structured arrays, other
/// dimensions, an empty array, and a file that is shorter or longer than its header says;
/// NumericalError for NaN and Inf, with row and column; NotAvailable if memory does not suffice.
Matrix read_npy(const std::string& path);
Matrix parse_npy(std::string_view bytes, const std::string& name);

/// Reads one array of an .npz archive (zip, members stored or deflated, ZIP64 too). An empty
/// `variable` means the only array; if there are several, the message lists them. Throws as
/// read_npy does, and FileError for a damaged archive (checksums are verified) or an unknown
/// variable.
Matrix read_npz(const std::string& path, const std::string& variable = "");
Matrix parse_npz(std::string_view bytes, const std::string& name, const std::string& variable = "");
/// Returns the names of the arrays in an archive, in the order of its directory, without ".npy".
std::vector<std::string> npz_variables(const std::string& path);

/// One member of an archive to be written: a 2-D array (Fortran order), a 1-D array, 64-bit
/// integers, or text (a 0-d byte string, as scipy.sparse.load_npz expects for its `format`).
struct NpzArray {
  std::string name;
  std::variant<Matrix, Vector, std::vector<Index>, std::string> value;
};

/// Writes format 1.0, little-endian f8. The file appears under its name only when complete. Throws
/// FileError.
void write_npy(const std::string& path, const Matrix& A);
/// Stores members without compression; uses ZIP64 if the sizes require it. Throws FileError;
/// InvalidArgument for a name that is empty or given twice.
void write_npz(const std::string& path, std::span<const NpzArray> arrays);

}  // namespace matapprox
