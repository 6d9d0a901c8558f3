#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/methods/registry.hpp"

namespace matapprox {

/// The unfinished fit saved in `path`, if it is one of the same method, options and precision,
/// without the factors that it has so far: its record.resume goes into RunControl::resume. Throws
/// FileError if there is nothing to resume, InvalidArgument naming what differs.
SavedFit load_checkpoint(const std::string& path,
                         const Method& method,
                         const NamedOptions& options,
                         Precision precision);

/// The same for a fit that may have ended: its record.resume may be empty.
SavedFit load_same_fit(const std::string& path,
                       const Method& method,
                       const NamedOptions& options,
                       Precision precision);

/// Whether a fit has ended by itself, so that there is nothing to resume.
bool is_finished(const SavedFit& saved);

/// Throws InvalidArgument if the checkpoint was made from another matrix.
void refuse_other_matrix(const std::string& path, const SavedFit& saved, const LoadedMatrix& input);

}  // namespace matapprox
