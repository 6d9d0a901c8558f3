#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A part of a stream, such as a file of a directory, that has been read to its end.
struct StreamPart {
  std::string name;
  Index rows = 0;
};

/// The rows of a matrix, each read once, from the first to the last. The whole matrix is never
/// held.
class RowStream {
 public:
  virtual ~RowStream() = default;

  /// Reads the next rows, b x n, b >= 1; returns false at the end. b is at most about `wanted`,
  /// unless a piece of text or an array in Fortran order in a pipe has more rows. Throws FileError,
  /// naming the part, for data that are damaged, cut off or of another width; NumericalError for
  /// NaN and Inf in HDF5; Interrupted while waiting for a pipe, if a StopScope requests a stop.
  bool next(Index wanted, Matrix& rows);

  /// Skips the first `count` rows of a stream from which nothing was read yet. `parts` is the
  /// result of parts() when these rows were first read; those parts are not opened again. Throws
  /// FileError if the stream is recognizably another one: other names, or fewer rows.
  virtual void skip(Index count, const std::vector<StreamPart>& parts);

  /// m, if known before the end.
  virtual std::optional<Index> rows() const { return std::nullopt; }
  /// n, if known before the first rows.
  virtual std::optional<Index> cols() const { return std::nullopt; }
  /// The parts that were read to their end, in order; empty for a single file or a pipe.
  virtual std::vector<StreamPart> parts() const { return {}; }
  /// Returns and clears the decisions of the readers: "part-1.csv: line 1 is taken for a header".
  std::vector<std::string> take_notes();

 protected:
  RowStream() = default;
  RowStream(const RowStream&) = default;
  RowStream(RowStream&&) = default;
  RowStream& operator=(const RowStream&) = default;
  RowStream& operator=(RowStream&&) = default;
  /// Implements next().
  virtual bool read_next(Index wanted, Matrix& rows) = 0;
  std::vector<std::string> notes_;

 private:
  Matrix left_;  ///< rows after the skipped ones in the last piece that skip() read
};

/// Opens a directory, a file or a pipe.
/// - A directory: its files, in natural order of their names (part-2 before part-10), are the row
///   blocks of one matrix. Names that begin with a dot are skipped.
/// - A file, by the format of its name: .npy, .csv, .tsv, .txt and .h5 (`variable` or
///   file.h5:/dataset) are read panel by panel. Any other format, and compressed text, is loaded
///   as a whole by load(); a saved approximation is applied to unit columns.
/// - "-" or a pipe: .npy arrays one after the other, or lines of a table, as the first bytes tell.
///   Arrays in Fortran order are held one at a time.
///
/// Throws FileError, with the name, for a directory that is empty, contains a directory or a file
/// of unknown format; for a source that cannot be opened; and for a sparse matrix whose dense rows
/// would be out of proportion to its entries. Throws InvalidArgument for a `variable`, or
/// `allow_external` (as in LoadOptions), that the format does not have.
std::unique_ptr<RowStream> open_row_stream(const std::string& path,
                                           const std::string& variable = "",
                                           bool allow_external = false);

/// True if `a` precedes `b` in the order in which runs of digits count as numbers.
bool natural_order(const std::string& a, const std::string& b);

}  // namespace matapprox
