#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A regular file that is read at any place by any thread; closes itself.
class PositionedFile {
 public:
  /// Throws FileError if the file cannot be opened or is not a regular one.
  explicit PositionedFile(const std::string& path);
  ~PositionedFile();
  PositionedFile(const PositionedFile&) = delete;
  PositionedFile& operator=(const PositionedFile&) = delete;

  const std::string& path() const { return path_; }
  Index size() const { return size_; }  ///< bytes, when it was opened
  /// The `count` bytes from `offset` on; throws FileError if the file ends before.
  void read_at(Index offset, Index count, char* target) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  Index size_ = 0;
};

/// A two-dimensional array of numbers that lie one after the other in a file.
struct FileNumbers {
  char kind = 'f';      ///< b bool, i signed, u unsigned, f floating
  Index item_size = 8;  ///< bytes of one number: 1, 2, 4 or 8
  bool big_endian = false;
  bool fortran_order = false;  ///< column after column; else row after row
  Index rows = 0;
  Index cols = 0;
  Index offset = 0;  ///< where the numbers begin
};

/// The numbers as a matrix, converted to double: panels of rows or columns are read and transposed
/// by all threads, each byte of the file once. Memory beside the result: a few MB per thread.
/// Throws FileError if the file ends too early.
Matrix read_file_numbers(const PositionedFile& file, const FileNumbers& numbers);

/// The same of an array that is in memory; `numbers.offset` counts from `bytes`.
Matrix convert_numbers(const char* bytes, const FileNumbers& numbers);

/// `count` rows of A from `first` on, one after the other: count * A.cols() numbers.
void copy_rows(const Matrix& A, Index first, Index count, double* target);

/// Where the first entry is, in the order of columns, that is NaN or Inf; false if there is none.
bool find_nonfinite(const Matrix& A, Index& row, Index& col);

}  // namespace matapprox
