#pragma once

#include <string>

namespace matapprox::app {

/// Returns the text of a file of options: lines `name = value` and `name = [value, ...]`, table
/// headers [name], comments after #, and blank lines. Throws FileError if it cannot be read, holds
/// zero bytes or is longer than 1 MiB; throws InvalidArgument, naming the line, for any other line,
/// which CLI11 would ignore or read in part.
std::string config_text(const std::string& path);

}  // namespace matapprox::app
