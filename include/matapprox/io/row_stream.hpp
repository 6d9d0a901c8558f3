#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A part of a stream, a file of a directory for one, that has been read to its end.
struct StreamPart {
  std::string name;
  Index rows = 0;
};

/// The rows of a matrix, each met once, from the first to the last; never the whole of it.
class RowStream {
 public:
  virtual ~RowStream() = default;

  /// The next rows, b x n, b >= 1; false at the end. About `wanted` of them, at most, except where
  /// a piece of text or an array in Fortran order in a pipe has more. Throws FileError, naming the
  /// part, for what is damaged, cut off or of another width, NumericalError for NaN and Inf in
  /// HDF5; Interrupted while it waits for a pipe, if a StopScope asks for it.
  bool next(Index wanted, Matrix& rows);

  /// Moves over the first `count` rows of a stream of which nothing was read yet, `parts` being
  /// what parts() was when they were read: those are not opened again. Throws FileError if the
  /// stream is not that one as far as can be told: other names, or fewer rows.
  virtual void skip(Index count, const std::vector<StreamPart>& parts);

  /// m, where it is known before the end.
  virtual std::optional<Index> rows() const { return std::nullopt; }
  /// n, where it is known before the first rows.
  virtual std::optional<Index> cols() const { return std::nullopt; }
  /// The parts that were read to their end, in order; empty for a single file and a pipe.
  virtual std::vector<StreamPart> parts() const { return {}; }
  /// What the readers decided, once: "part-1.csv: line 1 is taken for a header".
  std::vector<std::string> take_notes();

 protected:
  RowStream() = default;
  RowStream(const RowStream&) = default;
  RowStream(RowStream&&) = default;
  RowStream& operator=(const RowStream&) = default;
  RowStream& operator=(RowStream&&) = default;
  /// What next() does.
  virtual bool read_next(Index wanted, Matrix& rows) = 0;
  std::vector<std::string> notes_;

 private:
  Matrix left_;  ///< of the last piece that skip() met; rows to come
};

/// Opens
/// - a directory: its files, in natural order of their names (part-2 before part-10), are row
/// blocks
///   of one matrix. Names that begin with a dot are passed over;
/// - a file, by the format of its name. .npy, .csv, .tsv, .txt and .h5 (`variable` or
///   file.h5:/dataset) are read panel by panel; any other format, and compressed text, is loaded
///   whole, as load() does it, a saved approximation applied to unit columns;
/// - "-" or a pipe: .npy arrays one after the other, or lines of a table, by the first bytes.
/// Arrays
///   in Fortran order are held one at a time.
/// Throws FileError for a directory that is empty, has a directory in it, or a file of a format
/// that is not known, naming it, for what cannot be opened, and for a sparse matrix whose rows,
/// read as they stand, are out of proportion to its entries; InvalidArgument for a variable, or
/// `allow_external` (as in LoadOptions), that the format does not have.
std::unique_ptr<RowStream> open_row_stream(const std::string& path,
                                           const std::string& variable = "",
                                           bool allow_external = false);

/// True if `a` comes before `b` where runs of digits count as numbers.
bool natural_order(const std::string& a, const std::string& b);

}  // namespace matapprox
