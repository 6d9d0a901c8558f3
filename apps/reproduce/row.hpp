#pragma once

#include <optional>
#include <string>

#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "report/json.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// Approximations of a finished row, which its image and its saved file need.
struct RowResult {
  Approximation tsvd;  ///< at the paper's rank
  Approximation chord;
  double relative_error = 0;
};

/// Fills in everything of `row` except paper and file: fits, then measures. `control` reports,
/// saves and resumes the Chord fit; all other work it can only stop. Throws the exceptions of the
/// methods.
RowResult reproduce_row(ReproducedRow& row,
                        const LinearOperator& A,
                        const ReproductionOptions& options,
                        const RunControl& control);

/// Error that remains when the `count` largest entries are kept.
ReproducedError keep_largest_entries(const Matrix& A, Index count);

using report::Json;

/// A row in the format of the JSON document.
Json to_json(const ReproducedRow& row);

/// Path of a file of a row: folder/NAME.json, .h5, .png.
std::string cached_path(const ReproductionOptions& options,
                        const PaperMatrix& matrix,
                        const std::string& ending);

/// Writes NAME.h5 and then NAME.json, so that a row with a NAME.json is complete. Throws FileError.
void cache_row(ReproducedRow& row,
               const LoadedMatrix& loaded,
               const RowResult& result,
               const ReproductionOptions& options);

/// Writes the best point of a running fit, and the state from which it can continue, to
/// NAME.unfinished.h5; cache_row removes that file. `seconds` is the time of the fit so far. Throws
/// FileError.
void keep_checkpoint(const ReproducedRow& row,
                     const LoadedMatrix& loaded,
                     const Approximation& best,
                     const ResumeState& state,
                     double seconds,
                     const ReproductionOptions& options);

/// Returns the checkpoint of keep_checkpoint, if it is of this matrix and these options. Otherwise
/// returns nullopt, and `reason` says what differs; it stays empty if there is no such file.
std::optional<SavedFit> take_checkpoint(const ReproducedRow& row,
                                        const LoadedMatrix& loaded,
                                        const ReproductionOptions& options,
                                        std::string& reason);

/// Fills `row` from its cached files. Returns false if there are none, or if they were made from
/// another file (row.sha256), with other options or by another version; then `reason` says what
/// differs.
bool take_cached_row(ReproducedRow& row, const ReproductionOptions& options, std::string& reason);

}  // namespace matapprox::reproduction
