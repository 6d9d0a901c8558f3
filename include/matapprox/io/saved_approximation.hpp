#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/io/load.hpp"
#include "matapprox/io/row_stream.hpp"
#include "matapprox/methods/registry.hpp"
#include "matapprox/methods/sketch.hpp"

namespace matapprox {

/// Everything in a saved file except the factors.
struct SavedRecord {
  Provenance provenance;
  std::optional<double> error_frobenius;
  std::optional<double> relative_error;
  bool error_is_exact = true;
  bool interrupted = false;
  double fit_seconds = 0;
  /// Not empty in a checkpoint or an interrupted fit. Long arrays stay in the file.
  ResumeState resume;
};

struct SavedApproximation {
  Approximation approximation;
  SavedRecord record;
};

/// A saved file without its factors.
struct SavedFit {
  Summary summary;
  Precision precision = Precision::kDouble;
  SavedRecord record;
};

/// Writes one HDF5 file (docs/file-format.md) as a temporary file that is synced and renamed, so
/// that a crash leaves either the old file or the new one. Throws FileError.
void save(const std::string& path, const Approximation& approximation, const SavedRecord& record);

/// Throws FileError if the file is not a saved approximation, has a newer format version or is
/// damaged.
SavedApproximation load_approximation(const std::string& path);

/// Reads everything except the factors. Long arrays of record.resume stay in the file, which is
/// kept open as long as they exist, even if it is renamed or removed. Throws as load_approximation
/// does.
SavedFit read_saved_fit(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a saved approximation.
bool is_saved_approximation(const std::string& path);

/// True if the file is an HDF5 file whose root says it is a model that training::save_model wrote.
bool is_saved_model(const std::string& path);

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

/// Progress of a sketch in a stream.
struct StreamPosition {
  std::string source;             ///< name of the stream, as given by the user
  std::vector<StreamPart> parts;  ///< its parts that are completely in the sketch, see RowStream
  double seconds = 0;             ///< time spent so far
};

/// State from which a sketch continues.
struct SavedSketch {
  StreamingSketch sketch;
  StreamPosition position;
};

/// Writes one HDF5 file (docs/file-format.md) as a temporary file that is synced and renamed, so
/// that a crash leaves either the old file or the new one. Memory does not grow with the sketch.
/// Throws FileError; NumericalError for a sketch with NaN or Inf; InvalidArgument for a part whose
/// name contains a line end.
void save_sketch(const std::string& path,
                 const StreamingSketch& sketch,
                 const StreamPosition& position);

/// Throws FileError if the file is not a sketch, has a newer format version or is damaged;
/// NotAvailable if memory does not suffice.
SavedSketch load_sketch(const std::string& path);

}  // namespace matapprox
