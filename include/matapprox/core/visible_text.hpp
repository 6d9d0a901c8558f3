#pragma once

#include <string>
#include <string_view>

namespace matapprox {

// Names of files, of datasets and of options, and strings in files, are any bytes. Printed as they
// are, they could move the cursor, color a terminal, or begin a line that looks like one of the
// program. What is escaped is written \u001b, as in JSON, by its code point; \n, \r and \t have
// their short forms; a byte that is not UTF-8 is written \xff. A backslash stays one.

/// `text` in one line of legal UTF-8 without control characters: C0, DEL, C1, line and paragraph
/// separators, and those that reverse the direction of text are escaped.
std::string visible_text(std::string_view text);

/// The same, but line ends and tabs stay: for whole texts whose foreign parts went through
/// visible_text when they became a part of it.
std::string visible_lines(std::string_view text);

/// `text` with only those bytes escaped that are not UTF-8.
std::string legal_utf8(std::string_view text);

/// The bytes of the UTF-8 sequence that begins at `at`; 0 if there is none that is legal.
std::size_t utf8_length(std::string_view text, std::size_t at);

}  // namespace matapprox
