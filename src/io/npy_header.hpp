#pragma once

#include <string>
#include <string_view>

#include "io/file_numbers.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Throws FileError if a file with this start is no .npy file.
void check_npy_start(std::string_view start, const std::string& name);

/// Returns the description of the array in a .npy file of `file_bytes` bytes that begins with
/// `bytes`. Checks the sizes against the length of the file. Throws FileError like read_npy.
FileNumbers parse_npy_header(std::string_view bytes, Index file_bytes, const std::string& name);

/// Returns the length of a header that begins with these 12 bytes, including them. Throws FileError
/// if this is no NumPy array or if the header is longer than a MiB.
Index npy_header_bytes(std::string_view start, const std::string& name);
/// Parses a whole header; the numbers are stored elsewhere, so `offset` is 0.
FileNumbers parse_npy_stream_header(std::string_view header, const std::string& name);

/// Returns the header of a new file; `shape` is in the syntax of Python: "(3, 4)", "(5,)", "()".
std::string make_npy_header(const std::string& descr, bool fortran_order, const std::string& shape);

}  // namespace matapprox
