#pragma once

#include <string>

#include "matapprox/core/types.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// Reads the numbers of a file as a dense block. A single row of `rows` numbers becomes a column;
/// the caller checks that the block has `rows` rows. Notes of the reader go to stderr unless quiet.
/// Throws the exceptions of load(), and NotAvailable if memory is short.
Matrix read_block(const std::string& path, const std::string& variable, Index rows, bool quiet);

/// The block as a list of rows, each a list of numbers.
report::Json values_json(const Matrix& block);

}  // namespace matapprox::app
