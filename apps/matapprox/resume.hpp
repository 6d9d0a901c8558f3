#pragma once

#include <string>

#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/report/run.hpp"

namespace matapprox::app {

/// The checkpoint in `path`, if it is one of the same method, options and precision. Throws
/// FileError if there is nothing to resume, InvalidArgument naming what differs.
SavedApproximation load_checkpoint(const std::string& path,
                                   const Method& method,
                                   const NamedOptions& options,
                                   Precision precision);

/// Throws InvalidArgument if the checkpoint was made from another matrix.
void refuse_other_matrix(const std::string& path,
                         const SavedApproximation& saved,
                         const LoadedMatrix& input);

/// A Chord fit that starts from the factors saved in `warm_start`. Throws InvalidArgument if
/// `method` is not chord or the file does not hold one Chord chain.
Fit warm_started_fit(const Method& method,
                     const NamedOptions& options,
                     const std::string& warm_start);

}  // namespace matapprox::app
