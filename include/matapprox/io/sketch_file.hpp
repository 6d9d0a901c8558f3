#pragma once

#include <string>
#include <vector>

#include "matapprox/io/row_stream.hpp"
#include "matapprox/methods/sketch.hpp"

namespace matapprox {

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
