#pragma once

#include <string>
#include <string_view>

namespace matapprox::mat {

enum class Version { k5, k73 };

/// Checks a MATLAB file before libmatio reads it: its header, and for version 5 every top-level
/// element, which must lie within the file and, if compressed, inflate to its end with the right
/// checksum. libmatio itself replaces missing bytes by zeros. Throws FileError.
Version check_structure(std::string_view bytes, const std::string& name);

}  // namespace matapprox::mat
