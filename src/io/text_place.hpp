#pragma once

#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Returns the line, counted from 1, of the byte at `at` of the text. Cost: one pass up to that
/// byte, only for error messages.
Index line_number(std::string_view text, std::size_t at);

/// Kind of an error: the form of the file, or a number that is NaN or Inf.
enum class Misfit { kForm, kNotFinite };

/// Throws FileError "name:line: what", or NumericalError for a number that is not finite.
[[noreturn]] void fail_at(const std::string& name,
                          std::string_view text,
                          std::size_t at,
                          const std::string& what,
                          Misfit misfit = Misfit::kForm);
[[noreturn]] void fail_at_line(const std::string& name,
                               Index line,
                               const std::string& what,
                               Misfit misfit = Misfit::kForm);
/// Throws NumericalError: the entry in that row and column, given from 0 and shown from 1 like
/// lines, is `value`, NaN or Inf.
[[noreturn]] void fail_not_finite(const std::string& name, Index row, Index col, double value);
/// Throws FileError "name: what", for errors without a line.
[[noreturn]] void fail_in(const std::string& name, const std::string& what);

/// Returns a piece of a file for a message: in quotes, at most 40 bytes, control and high bytes as
/// \xNN.
std::string in_quotes(std::string_view piece);

/// Returns the text at `at` up to the next blank, separator or line end.
std::string_view token_at(std::string_view text, std::size_t at, std::string_view separators = "");

}  // namespace matapprox
