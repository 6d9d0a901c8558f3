#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "io/hdf5_attributes.hpp"
#include "matapprox/core/multi_vector.hpp"

// Arrays of real numbers. Numbers are little-endian on disk; every array carries the attribute
// `crc32` of its bytes. The caller holds an ErrorSilencer. All functions throw FileError; messages
// start with `file`.
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
/// column by column. Bypasses HDF5 by MemorySpace::write_to_file if possible; otherwise takes the
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

}  // namespace matapprox::hdf5
