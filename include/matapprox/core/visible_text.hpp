#pragma once

#include <string>
#include <string_view>

namespace matapprox {

// Names of files, datasets and options, and strings in files, may contain any bytes. Printed
// unchanged, they could move the cursor, color a terminal, or imitate a line of the program's
// output. Escaped characters are written by code point as \u001b, as in JSON; \n, \r and \t have
// their short forms; a byte that is not UTF-8 is written \xff. A backslash is not escaped.

/// Returns `text` as one line of valid UTF-8 without control characters: C0, DEL, C1, line and
/// paragraph separators, and characters that reverse the text direction are escaped.
std::string visible_text(std::string_view text);

/// The same, but line ends and tabs are kept: for whole texts whose foreign parts were passed
/// through visible_text when they were inserted.
std::string visible_lines(std::string_view text);

/// Returns `text` with only those bytes escaped that are not UTF-8.
std::string legal_utf8(std::string_view text);

/// Number of bytes of the UTF-8 sequence that begins at `at`; 0 if it is not valid.
std::size_t utf8_length(std::string_view text, std::size_t at);

}  // namespace matapprox
