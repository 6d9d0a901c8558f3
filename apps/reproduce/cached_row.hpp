#pragma once

#include <optional>
#include <string>

#include "matapprox/io/load.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "report/json.hpp"
#include "reproduce/row.hpp"

namespace matapprox::reproduction {

using report::Json;

/// A row as it is in the JSON document.
Json to_json(const ReproducedRow& row);

/// Where the files of a row are kept: folder/NAME.json, .h5, .png.
std::string cached_path(const ReproductionOptions& options,
                        const PaperMatrix& matrix,
                        const std::string& ending);

/// Writes NAME.h5 and then NAME.json: a row that has a NAME.json is whole. Throws FileError.
void cache_row(ReproducedRow& row,
               const LoadedMatrix& loaded,
               const RowResult& result,
               const ReproductionOptions& options);

/// Writes the best point of a fit that goes on, and what is needed to go on from it, to
/// NAME.unfinished.h5; cache_row removes it. `seconds` are those of the fit so far. Throws
/// FileError.
void keep_checkpoint(const ReproducedRow& row,
                     const LoadedMatrix& loaded,
                     const Approximation& best,
                     const ResumeState& state,
                     double seconds,
                     const ReproductionOptions& options);

/// What keep_checkpoint wrote, if it is of this matrix and these options. Else
/// nothing, and `reason` says what differs; it stays empty where there is no such file.
std::optional<SavedFit> take_checkpoint(const ReproducedRow& row,
                                        const LoadedMatrix& loaded,
                                        const ReproductionOptions& options,
                                        std::string& reason);

/// Fills `row` from what is kept of it. False if nothing is, or it was made from another file
/// (row.sha256), with other options or by another version; then `reason` says what differs.
bool take_cached_row(ReproducedRow& row, const ReproductionOptions& options, std::string& reason);

}  // namespace matapprox::reproduction
