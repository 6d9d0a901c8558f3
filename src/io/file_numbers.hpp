#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A regular file that any thread can read at any offset; the destructor closes it.
class PositionedFile {
 public:
  /// Throws FileError if the file cannot be opened or is not a regular one.
  explicit PositionedFile(const std::string& path);
  ~PositionedFile();
  PositionedFile(const PositionedFile&) = delete;
  PositionedFile& operator=(const PositionedFile&) = delete;

  const std::string& path() const { return path_; }
  Index size() const { return size_; }  ///< bytes, at the time of opening
  /// Reads `count` bytes from `offset` on; throws FileError if the file ends earlier.
  void read_at(Index offset, Index count, char* target) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  Index size_ = 0;
};

/// A two-dimensional array of contiguous numbers in a file.
struct FileNumbers {
  char kind = 'f';      ///< b bool, i signed, u unsigned, f floating
  Index item_size = 8;  ///< bytes of one number: 1, 2, 4 or 8
  bool big_endian = false;
  bool fortran_order = false;  ///< column-major; otherwise row-major
  Index rows = 0;
  Index cols = 0;
  Index offset = 0;  ///< position of the first number in bytes
};

/// Reads the numbers as a matrix of doubles. All threads read and transpose panels of rows or
/// columns, each byte of the file once. Memory besides the result: a few MB per thread. Throws
/// FileError if the file ends too early.
Matrix read_file_numbers(const PositionedFile& file, const FileNumbers& numbers);

/// Same for an array in memory; `numbers.offset` counts from `bytes`.
Matrix convert_numbers(const char* bytes, const FileNumbers& numbers);

/// Copies `count` rows of A from `first` on in row-major order: count * A.cols() numbers.
void copy_rows(const Matrix& A, Index first, Index count, double* target);

/// Finds the first entry, in the order of columns, that is NaN or Inf; returns false if there is
/// none.
bool find_nonfinite(const Matrix& A, Index& row, Index& col);

}  // namespace matapprox
