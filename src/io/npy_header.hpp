#pragma once

#include <string>
#include <string_view>

#include "io/file_numbers.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Throws FileError if a file that begins so is no .npy file.
void check_npy_start(std::string_view start, const std::string& name);

/// What a .npy file of `file_bytes` bytes, which begins with `bytes`, says about its array; the
/// sizes are checked against the length of the file. Throws FileError as read_npy does.
FileNumbers parse_npy_header(std::string_view bytes, Index file_bytes, const std::string& name);

/// How long a header is that begins with these 12 bytes, them included. Throws FileError for what
/// is no NumPy array and for a header of more than a MiB.
Index npy_header_bytes(std::string_view start, const std::string& name);
/// What a whole header says; the numbers follow somewhere else, `offset` is 0.
FileNumbers parse_npy_stream_header(std::string_view header, const std::string& name);

/// The header of a new file; `shape` as Python writes it: "(3, 4)", "(5,)", "()".
std::string make_npy_header(const std::string& descr, bool fortran_order, const std::string& shape);

}  // namespace matapprox
