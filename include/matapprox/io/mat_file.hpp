#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/io/file_matrix.hpp"

namespace matapprox {

/// Reads one real matrix from a MATLAB file, version 5 (also compressed) or 7.3: dense or sparse,
/// double, single, integer or logical. `variable` names it; empty: the only numeric two-dimensional
/// array of the file. Throws FileError if the file is missing, damaged, crashes the library in a
/// trial read (set_read_guard), has no such variable or several to choose from (naming them), or if
/// the data are complex, cells, text or of more dimensions; NumericalError for NaN and Inf;
/// NotAvailable if memory does not suffice, or if this build has no matio.
FileMatrix read_mat(const std::string& path, const std::string& variable = {});

/// Version of the matio library that reads the files, "1.5.23"; empty if this build has none.
std::string matio_version();

/// Writes a version 5 file with one variable per entry, each at most 2^31 - 1 bytes (the format's
/// limit), as a temporary file that is then renamed. Throws FileError; InvalidArgument for a name
/// that MATLAB does not accept or a matrix beyond the format's limit.
void write_mat(const std::string& path,
               const std::vector<std::pair<std::string, FileMatrix>>& variables);

/// Writes a version 5 file with the 1 x p cell array `faust_factors`, as FAuST reads it: the
/// product of the cells in order. Throws as write_mat does.
void write_mat_factors(const std::string& path, const std::vector<FileMatrix>& factors);

}  // namespace matapprox
