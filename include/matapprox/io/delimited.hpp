#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reads a table of numbers, one matrix row per line. The separator is found from the first line
/// that is not blank: a tab, else a semicolon, else a comma, else blanks (any number of them). If
/// no cell of that line is a number, the line is skipped as a header and `notes` says so; its cells
/// may be quoted. A line with some numbers in it is an invalid row. Lines that start with '#' and
/// blank lines are skipped. Also accepted: .gz, "-" for standard input, Windows line ends, a byte
/// order mark.
///
/// Cost: one pass, 8 bytes of memory per number (at least 2 bytes in the file). Throws FileError
/// "name:line: what, value, legal range" for a row of another length, an empty cell, text where a
/// number should be, or no rows; NumericalError, with line and column, for NaN and Inf;
/// NotAvailable if memory does not suffice.
Matrix read_delimited(const std::string& path, std::vector<std::string>* notes = nullptr);
Matrix parse_delimited(std::string_view text,
                       const std::string& name,
                       std::vector<std::string>* notes = nullptr);

/// Writes comma-separated rows without a header, with the fewest digits that read back to the same
/// double. The file appears under its name only when complete. Throws FileError; InvalidArgument
/// for an empty matrix, NaN or Inf.
void write_csv(const std::string& path, const Matrix& A);

}  // namespace matapprox
