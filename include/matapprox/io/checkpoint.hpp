#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// Loads the unfinished fit saved in `path`, without its factors, if it has the same method,
/// options and precision. Its record.resume is the value for RunControl::resume. Throws FileError
/// if there is nothing to resume, InvalidArgument naming the difference.
SavedFit load_checkpoint(const std::string& path,
                         const Method& method,
                         const NamedOptions& options,
                         Precision precision);

/// The same for a fit that may be finished; its record.resume may be empty.
SavedFit load_same_fit(const std::string& path,
                       const Method& method,
                       const NamedOptions& options,
                       Precision precision);

/// True if a fit has ended by itself, so that there is nothing to resume.
bool is_finished(const SavedFit& saved);

/// Throws InvalidArgument if the checkpoint was made from another matrix.
void refuse_other_matrix(const std::string& path, const SavedFit& saved, const LoadedMatrix& input);

}  // namespace matapprox
