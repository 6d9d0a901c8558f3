#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/io/file_matrix.hpp"

namespace matapprox {

/// Reads one real matrix from a MATLAB file, version 5 (also compressed) or 7.3: dense or sparse,
/// double, single, integer or logical. `variable` names it; empty: the only numeric two-dimensional
/// array of the file.
/// Throws FileError if the file is missing, damaged, crashes the library in a trial
/// (set_read_guard), holds no such variable, several to choose from (naming them), or complex,
/// cell, text or more-dimensional data; NumericalError for NaN and Inf; NotAvailable if it needs
/// more memory than there is, or if this build has no matio.
FileMatrix read_mat(const std::string& path, const std::string& variable = {});

/// The matio that reads them, "1.5.23"; empty if this build has none.
std::string matio_version();

/// Writes a version 5 file with one variable per entry. Each is at most 2^31 - 1 bytes (the
/// format's limit). By way of a temporary file that is renamed. Throws FileError; InvalidArgument
/// for a name that MATLAB does not take or a matrix beyond the format.
void write_mat(const std::string& path,
               const std::vector<std::pair<std::string, FileMatrix>>& variables);

/// Writes a version 5 file with the 1 x p cell array `faust_factors`, as FAuST reads it: the
/// product of the cells in order. Throws as write_mat.
void write_mat_factors(const std::string& path, const std::vector<FileMatrix>& factors);

}  // namespace matapprox
