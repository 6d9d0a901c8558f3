#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_handle.hpp"
#include "matapprox/core/multi_vector.hpp"

// Arrays of real numbers and of integers, and of words and floats without conversion. Numbers are
// little-endian on disk; every array carries the attribute `crc32` of its bytes. The caller holds
// an ErrorSilencer. All functions throw FileError; messages start with `file`.
namespace matapprox::hdf5 {

/// Supplies or takes rows first .. first+count-1 of an array, row-major.
using RowSource = std::function<void(Index first, Index count, double* values)>;
using RowSink = std::function<void(Index first, Index count, const double* values)>;

/// Writes an array of numbers, rounded to `precision` (kPacked: doubles); one extent or two.
void write_values(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  Precision precision,
                  const RowSource& source);
void write_values(const Location& group,
                  const std::string& name,
                  std::span<const double> values,
                  Precision precision);
/// Treatment of NaN and Inf: refused, with NumericalError, or written.
enum class NotFinite { kRefused, kAllowed };
/// Writes an array of doubles from a block of a memory space, row by row, or, with one extent,
/// column by column. Bypasses HDF5 by BlockWriter::write_to_file if possible; otherwise takes the
/// numbers from `source`, which itself has to check for NaN and Inf.
void write_placed(const Location& group,
                  const std::string& name,
                  const std::vector<Index>& extents,
                  const ConstMultiVectorView& block,
                  NotFinite not_finite,
                  const RowSource& source);
/// Reads an array in pieces; the extents must be those given. Verifies the checksum if there is
/// one.
void read_values(const Location& group,
                 const std::string& name,
                 const std::vector<Index>& extents,
                 const RowSink& sink);
std::vector<double> read_values(const Location& group, const std::string& name);
/// Reads an array of doubles of one extent in pieces. The file stays open for the lifetime of the
/// reader, even if it is renamed or removed. The last piece verifies the checksum if all pieces
/// were read in order from the first.
class ValueReader {
 public:
  ValueReader(const Location& group, const std::string& name);
  ~ValueReader();
  ValueReader(const ValueReader&) = delete;
  ValueReader(ValueReader&&) = delete;
  ValueReader& operator=(const ValueReader&) = delete;
  ValueReader& operator=(ValueReader&&) = delete;

  /// True if a ValueReader can read the array: doubles in one contiguous part of the file.
  static bool can_read(const Location& group, const std::string& name);
  Index size() const { return size_; }
  void read(Index first, Index count, double* values);

 private:
  std::string file_;
  std::string name_;
  Handle dataset_;
  Index size_ = 0;
  Index next_ = 0;  ///< the first number that is not in the checksum yet
  unsigned long sum_ = 0;
};

/// Returns the extents of a dataset in this group.
std::vector<Index> extents_of(const Location& group, const std::string& name);

/// Writes integers as 64 bits, or as 32 if `narrow` (they must fit).
void write_integers(const Location& group,
                    const std::string& name,
                    std::span<const Index> values,
                    bool narrow = false);
std::vector<Index> read_integers(const Location& group, const std::string& name);

/// Writes or reads an array of bytes, 16-bit words or floats without copies in other types. Stored
/// is std::uint8_t, std::uint16_t or float; reading throws if the file has another type.
template <class Stored>
void write_array(const Location& group, const std::string& name, std::span<const Stored> values);
template <class Stored>
std::vector<Stored> read_array(const Location& group, const std::string& name);

/// Writes a table of integers of at least 0, row-major, in the narrowest of 8 and 16 bits
/// (unsigned), 32 and 64 (signed) that holds them all.
void write_table(const Location& group,
                 const std::string& name,
                 std::span<const Index> values,
                 Index columns);

/// Reads a whole table that write_table wrote.
std::vector<Index> read_table(const Location& group, const std::string& name, Index columns);

/// Type in which integers are stored.
enum class IntegerType { kInt8, kInt32 };

/// Writes an array of integers (one extent or two, all at least 1) in compressed chunks. The
/// integers must fit the type.
void write_integer_rows(const Location& group,
                        const std::string& name,
                        const std::vector<Index>& extents,
                        IntegerType type,
                        const RowSource& source);
/// Reads integers of any type in pieces; the extents must be those given. Integers beyond 2^53 are
/// rounded. Verifies the checksum if there is one. Memory: one piece, for any extents.
void read_integer_rows(const Location& group,
                       const std::string& name,
                       const std::vector<Index>& extents,
                       const RowSink& sink);

}  // namespace matapprox::hdf5
