#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"

namespace matapprox {

/// load_approximation and is_saved_approximation without the rehearsal, for callers that rehearse
/// the whole of what they do. is_saved_file throws FileError if the file is no HDF5 file at all.
SavedApproximation read_saved_file(const std::string& path);
bool is_saved_file(const std::string& path);

}  // namespace matapprox
