#pragma once

#include <string>

#include "matapprox/core/types.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// The numbers of a file as a dense block. A single line of `rows` numbers is a column too; whether
/// the block then has `rows` rows is the caller's to check. Notes of the reader go to stderr unless
/// quiet. Throws what load() throws, and NotAvailable where memory is short.
Matrix read_block(const std::string& path, const std::string& variable, Index rows, bool quiet);

/// A list of rows, each a list of numbers.
report::Json values_json(const Matrix& block);

}  // namespace matapprox::app
