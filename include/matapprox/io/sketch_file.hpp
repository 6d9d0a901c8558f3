#pragma once

#include <string>
#include <vector>

#include "matapprox/io/row_stream.hpp"
#include "matapprox/methods/sketch.hpp"

namespace matapprox {

/// How far a sketch is with a stream.
struct StreamPosition {
  std::string source;             ///< the stream, as the user named it
  std::vector<StreamPart> parts;  ///< of it, that are in the sketch as a whole, see RowStream
  double seconds = 0;             ///< that it took so far
};

/// What is needed to go on.
struct SavedSketch {
  StreamingSketch sketch;
  StreamPosition position;
};

/// Writes one HDF5 file (docs/file-format.md): to a temporary beside it, fsync, rename, so that a
/// crash leaves either the old file or the new one. Memory: none that grows with the sketch. Throws
/// FileError; NumericalError for a sketch with NaN or Inf; InvalidArgument for a part whose name
/// has a line end in it.
void save_sketch(const std::string& path,
                 const StreamingSketch& sketch,
                 const StreamPosition& position);

/// Throws FileError if it is not a sketch, of a newer format version, or damaged; NotAvailable if
/// memory does not suffice.
SavedSketch load_sketch(const std::string& path);

}  // namespace matapprox
